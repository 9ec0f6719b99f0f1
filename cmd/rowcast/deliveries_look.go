package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/spf13/cobra"
)

// pendingPage is the answer of GET …/pending.
type pendingPage struct {
	Items []struct {
		ID, Target, Event, Entity, Subject, Status string
		Attempts                                   int
		NextAt                                     *time.Time
		LastError                                  *string
	}
	Next *string
}

func (d *desk) pending() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the deliveries that wait, failed ones first",
		Long: `pending lists deliveries that are not done, failed ones first, each by age. A failed
one waits for requeue or skip; a claimed one is being sent.`,
		Example: `  rowcast deliveries pending
  rowcast deliveries pending --target billing --status failed --limit 100
  rowcast deliveries pending --status failed --json | jq -r '.items[].id' | xargs rowcast deliveries requeue`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	target := flags.String("target", "", "only those for this target")
	status := flags.String("status", "", "only those that are pending, claimed or failed")
	limit := flags.Int("limit", 20, "how many, up to 100")
	cursor := flags.String("cursor", "", "go on where the page before ended")
	cmd.RunE = d.work(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
		query := url.Values{"limit": {strconv.Itoa(*limit)}}
		for name, value := range map[string]string{"target": *target, "status": *status, "cursor": *cursor} {
			if value != "" {
				query.Set(name, value)
			}
		}
		raw, err := c.Pending(ctx, query)
		var page pendingPage
		if err := d.answer(cmd.OutOrStdout(), &page, raw, err); err != nil || d.asJSON {
			return err
		}
		if len(page.Items) == 0 {
			cmd.PrintErrln("no deliveries wait")
			return nil
		}
		t := newTable("ID", "TARGET", "STATUS", "ATTEMPTS", "NEXT", "EVENT", "ROW", "LAST ERROR")
		for _, i := range page.Items {
			t.add(i.ID, i.Target, i.Status, strconv.Itoa(i.Attempts), instant(i.NextAt), i.Event, i.Entity+" "+i.Subject, orDash(i.LastError))
		}
		err = t.write(cmd.OutOrStdout())
		if page.Next != nil && err == nil {
			cmd.PrintErrf("there are more: --cursor %s\n", *page.Next)
		}
		return err
	})
	return cmd
}

// depth counts deliveries by status.
type depth struct{ Pending, Claimed, Failed int64 }

// statsAnswer is the answer of GET …/stats.
type statsAnswer struct {
	Depth      depth
	Counters   struct{ Attempted, Delivered, Retried, Failed, LeaseLost uint64 }
	OldestDue  *time.Time
	Undeclared []struct {
		Name  string
		Depth depth
	}
	Targets []struct {
		Name, URL, Timeout, Breaker string
		InFlight                    int
		Blocked                     int64
		Depth                       depth
	}
}

func (d *desk) stats() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how deep the queue is, counters, and the targets",
		Long: `stats shows how many deliveries wait by status, what the instance that answered has
counted since it started, and for each target how many wait and whether it is
being tried: its breaker is open while it answers nothing.`,
		Example: `  rowcast deliveries stats
  rowcast deliveries stats --json | jq .depth.failed`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = d.work(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
		raw, err := c.DeliveryStats(ctx)
		var s statsAnswer
		if err := d.answer(cmd.OutOrStdout(), &s, raw, err); err != nil || d.asJSON {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "queue: %s; oldest due %s\n", s.Depth, instant(s.OldestDue))
		if err != nil {
			return err
		}
		n := s.Counters
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "this instance: %d attempted, %d delivered, %d retried, %d failed, %d leases lost\n",
			n.Attempted, n.Delivered, n.Retried, n.Failed, n.LeaseLost)
		if err != nil {
			return err
		}
		return s.targets().write(cmd.OutOrStdout())
	})
	return cmd
}

func (n depth) String() string {
	return fmt.Sprintf("%d pending, %d claimed, %d failed", n.Pending, n.Claimed, n.Failed)
}

func (n depth) cells() []string {
	return []string{strconv.FormatInt(n.Pending, 10), strconv.FormatInt(n.Claimed, 10), strconv.FormatInt(n.Failed, 10)}
}

func (s *statsAnswer) targets() *table {
	t := newTable("TARGET", "PENDING", "CLAIMED", "FAILED", "BLOCKED", "IN FLIGHT", "BREAKER", "TIMEOUT", "URL")
	for _, i := range s.Targets {
		row := append([]string{i.Name}, i.Depth.cells()...)
		t.add(append(row, strconv.FormatInt(i.Blocked, 10), strconv.Itoa(i.InFlight), i.Breaker, i.Timeout, i.URL)...)
	}
	for _, i := range s.Undeclared {
		row := append([]string{i.Name}, i.Depth.cells()...)
		t.add(append(row, "-", "-", "-", "-", "not declared")...)
	}
	return t
}

func (d *desk) attempts() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attempts ID",
		Short: "Show the attempts at one delivery",
		Long: `attempts shows each attempt at a delivery, also after it was delivered, for as long as
events.retention says. After a requeue the numbers begin again at 1.`,
		Example: `  rowcast deliveries attempts U01M2P1R18V26CMVBZ1DC0AS1Z1`,
		Args:    cobra.ExactArgs(1),
	}
	cmd.RunE = d.work(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
		raw, err := c.Attempts(ctx, args[0])
		var log struct {
			Items []struct {
				Number, Milliseconds int
				At                   time.Time
				Status               *int
				Error                *string
				Outcome              string
			}
		}
		if err := d.answer(cmd.OutOrStdout(), &log, raw, err); err != nil || d.asJSON {
			return err
		}
		if len(log.Items) == 0 {
			cmd.PrintErrln("no attempt is logged: it waits for its first one, or the log has forgotten it, or there is none of that id")
			return nil
		}
		t := newTable("NUMBER", "AT", "TOOK", "STATUS", "OUTCOME", "ERROR")
		for _, i := range log.Items {
			took := time.Duration(i.Milliseconds) * time.Millisecond
			t.add(strconv.Itoa(i.Number), instant(&i.At), took.String(), statusCell(i.Status), i.Outcome, orDash(i.Error))
		}
		return t.write(cmd.OutOrStdout())
	})
	return cmd
}

func instant(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

func statusCell(status *int) string {
	if status == nil {
		return "-"
	}
	return strconv.Itoa(*status)
}

func orDash(text *string) string {
	if text == nil || strings.TrimSpace(*text) == "" {
		return "-"
	}
	return *text
}
