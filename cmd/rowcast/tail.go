package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/rowcast/rowcast/client"
	"github.com/spf13/cobra"
)

func newTail() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tail ENTITY",
		Short: "Print the frames of a stream, and resume by itself",
		Long: `tail opens GET /subscribe/ENTITY and prints each frame. It reconnects after a lost
connection or a restart of the server and resumes where it stood, so that every
event is printed once. Interrupted, it says on stderr where to go on with --since.`,
		Example: `  rowcast tail order --token "$(rowcast token --sub ann)" --name mine
  ROWCAST_TOKEN=… rowcast tail order --ops create,update --json | jq .subject`,
		Args: cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	url := flags.String("url", "http://127.0.0.1:8080", "address of the server")
	token := flags.String("token", "", "credential; defaults to the environment's ROWCAST_TOKEN, which ps does not show")
	asJSON := flags.Bool("json", false, "print the data of each frame only, a line each")
	var sub client.Subscription
	flags.StringVar(&sub.Name, "name", "", "which declared subscription; may be left out where there is one")
	flags.StringSliceVar(&sub.Ops, "ops", nil, "narrow to some of create,update,delete")
	flags.StringVar(&sub.LastEventID, "since", "", "an event id, or the ~ bookmark that tail printed: print what came after it first")
	flags.BoolVar(&sub.Leave, "leave", false, "also print when a row stops being yours to see")
	cmd.RunE = work(func(cmd *cobra.Command, args []string) error {
		sub.Entity = args[0]
		if *token == "" {
			*token = os.Getenv("ROWCAST_TOKEN")
		}
		c, err := client.New(client.Config{URL: *url, Token: *token, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))})
		if err != nil {
			return err
		}
		show := printFrame
		if *asJSON {
			show = printJSON
		}
		return follow(cmd, c.Stream(sub), show)
	})
	return cmd
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
