package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/spf13/cobra"
)

// drained is the answer of POST …/drain.
type drained struct {
	Attempted, Delivered, Retried, Failed int
	More                                  bool
}

func (d *desk) drain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Have the due deliveries attempted now",
		Long: `drain has the deliveries that are due attempted now, instead of when their turn comes,
and says what it came to. What is not due yet keeps its wait. Where the server
could not finish in half a minute it is asked again, with a line on stderr each time.`,
		Example: `  rowcast deliveries drain`,
		Args:    cobra.NoArgs,
	}
	cmd.RunE = d.work(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
		var total drained
		for {
			var part drained
			raw, err := c.Drain(ctx)
			if err := d.answer(cmd.OutOrStdout(), &part, raw, err); err != nil {
				return err
			}
			total.Attempted += part.Attempted
			total.Delivered += part.Delivered
			total.Retried += part.Retried
			total.Failed += part.Failed
			if !part.More {
				break
			}
			if part.Attempted == 0 {
				return errors.New("half a minute went by without an attempt: the receivers are slow, or another instance is sending; see deliveries stats")
			}
			cmd.PrintErrf("%d attempted so far\n", total.Attempted)
		}
		if d.asJSON {
			return nil
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%d attempted: %d delivered, %d to be retried, %d failed\n",
			total.Attempted, total.Delivered, total.Retried, total.Failed)
		return err
	})
	return cmd
}

// moved is the answer of POST …/requeue and …/skip.
type moved struct {
	Requeued, Removed []string
	Skipped           []struct{ ID, Reason string }
	More              bool
}

// reasons say why a delivery was left as it is.
var reasons = map[string]string{
	"unknown":             "there is none of that id: it was delivered or skipped, or never there",
	"pending":             "it is pending, and would lose its wait",
	"claimed":             "it is being sent",
	"target_not_declared": "its target is not declared any more",
}

// tell says what was done, and on stderr what was not; that is a failure.
func (m *moved) tell(cmd *cobra.Command, word string, done int, quiet bool) error {
	if !quiet {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %d\n", word, done); err != nil {
			return err
		}
	}
	for _, s := range m.Skipped {
		reason, known := reasons[s.Reason]
		if !known {
			reason = s.Reason
		}
		cmd.PrintErrf("%s: %s\n", printable(s.ID), printable(reason))
	}
	if n := len(m.Skipped); n > 0 {
		return fmt.Errorf("%d left as they are", n)
	}
	return nil
}

func (d *desk) requeue() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "requeue {ID... | --target TARGET}",
		Short: "Put failed deliveries back",
		Long: `requeue makes failed deliveries pending again, with all their attempts before them: those
named, up to a thousand, or with --target all failed ones of a target, which may be
narrowed to those queued in a time. They are sent one after the other and not at once.`,
		Example: `  rowcast deliveries requeue U01M2P1R18V26CMVBZ1DC0AS1Z1
  rowcast deliveries requeue --target billing --since 2026-09-17T02:00:00Z --until 2026-09-17T04:00:00Z
  rowcast deliveries requeue --target billing --since 2h`,
	}
	flags := cmd.Flags()
	target := flags.String("target", "", "all failed ones for this target")
	since := flags.String("since", "", "with --target: queued at or after this `time`, as RFC 3339 or how long ago")
	until := flags.String("until", "", "with --target: queued before this `time`")
	var which client.Failed
	cmd.Args = func(_ *cobra.Command, args []string) (err error) {
		which, err = readFailed(args, *target, *since, *until, time.Now())
		return err
	}
	cmd.RunE = d.work(func(ctx context.Context, cmd *cobra.Command, c *client.Client, _ []string) error {
		var total moved
		for {
			var part moved
			raw, err := c.Requeue(ctx, which)
			if err := d.answer(cmd.OutOrStdout(), &part, raw, err); err != nil {
				return err
			}
			total.Requeued = append(total.Requeued, part.Requeued...)
			total.Skipped = append(total.Skipped, part.Skipped...)
			if !part.More || len(part.Requeued) == 0 {
				return total.tell(cmd, "requeued", len(total.Requeued), d.asJSON)
			}
			cmd.PrintErrf("%d requeued so far\n", len(total.Requeued))
		}
	})
	return cmd
}

// readFailed returns which deliveries the arguments and flags name, or which of
// them do not go together.
func readFailed(ids []string, target, since, until string, now time.Time) (f client.Failed, err error) {
	switch {
	case len(ids) == 0 && target == "":
		return f, errors.New("say which: requeue ID..., or requeue --target TARGET")
	case len(ids) > 0 && (target != "" || since != "" || until != ""):
		return f, errors.New("--target, --since and --until stand in the place of ids: leave one or the other out")
	case len(ids) > 0:
		return client.Failed{IDs: ids}, nil
	}
	f.Target = target
	if f.Since, err = readTime("--since", since, now); err == nil {
		f.Until, err = readTime("--until", until, now)
	}
	return f, err
}

// readTime reads a time, or how long ago it was.
func readTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%s %q: want a time such as 2026-09-17T02:25:12Z, or how long ago, such as 2h", flag, text)
	}
	return at, nil
}

func (d *desk) skip() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skip ID...",
		Short: "Remove deliveries for good",
		Long: `skip removes deliveries that are failed or wait, up to a thousand: they are never sent.
What waited behind them in a target that keeps a row's order goes on.`,
		Example: `  rowcast deliveries skip U01M2P1R18V26CMVBZ1DC0AS1Z1`,
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.RunE = d.work(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
		var m moved
		raw, err := c.Skip(ctx, args...)
		if err := d.answer(cmd.OutOrStdout(), &m, raw, err); err != nil {
			return err
		}
		return m.tell(cmd, "removed", len(m.Removed), d.asJSON)
	})
	return cmd
}

func (d *desk) test() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test TARGET",
		Short: "Send a signed test event to a target",
		Long: `test sends a signed test event to a target now, past the queue, and says how it answered.
It exits with 1 unless the target accepted it.`,
		Example: `  rowcast deliveries test billing`,
		Args:    cobra.ExactArgs(1),
	}
	cmd.RunE = d.work(func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error {
		raw, err := c.TestTarget(ctx, args[0])
		return d.tested(cmd.OutOrStdout(), raw, err)
	})
	return cmd
}

// tested shows how a target answered.
func (d *desk) tested(out io.Writer, raw json.RawMessage, err error) error {
	var answer struct {
		Target       string
		Accepted     bool
		Status       *int
		Milliseconds int
		Error        *string
	}
	if err := d.answer(out, &answer, raw, err); err != nil {
		return err
	}
	took := time.Duration(answer.Milliseconds) * time.Millisecond
	if !answer.Accepted {
		return fmt.Errorf("%s did not accept the test event, after %s: %s", printable(answer.Target), took, printable(strings.TrimSpace(orDash(answer.Error))))
	}
	if d.asJSON {
		return nil
	}
	_, err = fmt.Fprintf(out, "%s accepted the test event: status %s after %s\n", printable(answer.Target), statusCell(answer.Status), took)
	return err
}
