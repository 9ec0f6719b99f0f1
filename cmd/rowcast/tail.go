package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/rowcast/rowcast/client"
	"github.com/spf13/cobra"
)

func newTail() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail {ENTITY | --channel CHANNEL}",
		Short: "Print the frames of a stream, and resume by itself",
		Long: `tail opens GET /subscribe/ENTITY, or with --channel GET /realtime, and prints each frame. It reconnects
after a lost connection or a restart of the server and resumes where it stood, so that every
event is printed once. Interrupted, it says on stderr where to go on with --since.`,
		Example: `  rowcast tail order --token "$(rowcast token --sub ann)" --name mine
  ROWCAST_TOKEN=… rowcast tail order --ops create,update --json | jq .subject
  rowcast tail --channel order --filter '[status][in]=open,paid' --changed status --leave
  rowcast tail --channel order.01M8PS40EH1SQW3EQ38GKVA9MX --fields status,total`,
	}
	flags := cmd.Flags()
	address := flags.String("url", "http://127.0.0.1:8080", "address of the server")
	token := flags.String("token", "", "credential; defaults to the environment's ROWCAST_TOKEN, which ps does not show")
	asJSON := flags.Bool("json", false, "print the data of each frame only, a line each")
	var o tailOptions
	flags.StringVar(&o.name, "name", "", "which declared subscription; may be left out where there is one")
	flags.StringSliceVar(&o.ops, "ops", nil, "narrow to some of create,update,delete")
	flags.StringVar(&o.channel, "channel", "", "follow this channel: ENTITY, or ENTITY.ID for one row")
	flags.StringArrayVar(&o.filters, "filter", nil, "of a channel: a `condition` '[FIELD][OPERATOR]=VALUE' as in a list, or JSON; may be repeated")
	flags.StringSliceVar(&o.fields, "fields", nil, "of a channel: show only these fields of the row")
	flags.StringSliceVar(&o.changed, "changed", nil, "of a channel: leave out updates in which none of these fields became another")
	flags.StringVar(&o.since, "since", "", "an event id, or the ~ bookmark that tail printed: print what came after it first")
	flags.BoolVar(&o.leave, "leave", false, "also print when a row stops being yours to see, or stops matching")
	var source client.Source
	// What does not go together is a wrong call, not a failure of the work.
	cmd.Args = func(cmd *cobra.Command, args []string) (err error) {
		if err = cobra.MaximumNArgs(1)(cmd, args); err == nil {
			source, err = o.source(args)
		}
		return err
	}
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		if *token == "" {
			*token = os.Getenv("ROWCAST_TOKEN")
		}
		c, err := client.New(client.Config{URL: *address, Token: *token, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))})
		if err != nil {
			return err
		}
		show := printFrame
		if *asJSON {
			show = printJSON
		}
		return follow(cmd, c.Stream(source), show)
	})
	return cmd
}

// tailOptions say what to follow.
type tailOptions struct {
	name, channel, since string
	ops, fields, changed []string
	filters              []string
	leave                bool
}

// source returns the subscription or channel that the options and the arguments
// name, or which of them do not go together.
func (o *tailOptions) source(args []string) (client.Source, error) {
	switch {
	case o.channel == "" && len(args) == 0:
		return nil, errors.New("say what to follow: tail ENTITY, or tail --channel CHANNEL")
	case o.channel == "" && (o.filters != nil || o.fields != nil || o.changed != nil):
		return nil, errors.New("--filter, --fields and --changed are of channels: use --channel ENTITY")
	case o.channel == "":
		return client.Subscription{Entity: args[0], Name: o.name, Ops: o.ops, Leave: o.leave, LastEventID: o.since}, nil
	case len(args) > 0 || o.name != "" || o.ops != nil:
		return nil, errors.New("--channel stands in the place of ENTITY, --name and --ops: leave them out")
	}
	filter, err := filterParameters(o.filters)
	if err != nil {
		return nil, err
	}
	return client.Channel{ // the server knows where the entity's name ends
		Entity: o.channel, Filter: filter, Fields: o.fields, Changed: o.changed, Leave: o.leave, LastEventID: o.since,
	}, nil
}

// filterParameters reads conditions as a list takes them, but in plain text.
func filterParameters(conditions []string) (url.Values, error) {
	query := url.Values{}
	for _, condition := range conditions {
		name, text, found := strings.Cut(condition, "=")
		switch {
		case strings.HasPrefix(condition, "{"):
			name, text, found = "filter", condition, true
		case strings.HasPrefix(name, "["):
			name = "filter" + name
		}
		if !found || !strings.HasPrefix(name, "filter") {
			return nil, fmt.Errorf("--filter %q: want '[FIELD][OPERATOR]=VALUE', or JSON as in '{\"status\":{\"eq\":\"open\"}}'", condition)
		}
		query.Add(name, text)
	}
	return query, nil
}

// follow prints a stream until the process is told to end.
func follow(cmd *cobra.Command, stream *client.Stream, show func(io.Writer, client.Event) error) error {
	err := stream.Run(cmd.Context(), func(ev client.Event) error { return show(cmd.OutOrStdout(), ev) })
	if position := stream.Position(); position != "" {
		cmd.PrintErrf("to go on: --since '%s'\n", position)
	}
	if problem := (*client.Problem)(nil); errors.As(err, &problem) && problem.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w; give a token with --token or ROWCAST_TOKEN (rowcast token prints one)", err)
	}
	if errors.Is(err, context.Canceled) && errors.Is(cmd.Context().Err(), context.Canceled) {
		return nil
	}
	return err
}

// printFrame writes a frame as it was on the wire.
func printFrame(w io.Writer, ev client.Event) error {
	_, err := fmt.Fprintf(w, "id: %s\nevent: %s\ndata: %s\n\n", ev.ID, ev.Type, ev.Raw)
	return err
}

func printJSON(w io.Writer, ev client.Event) error {
	_, err := fmt.Fprintf(w, "%s\n", ev.Raw)
	return err
}
