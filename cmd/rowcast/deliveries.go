package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/rowcast/rowcast/client"
	"github.com/spf13/cobra"
)

// desk is what the commands below deliveries share: which server, as whom, and
// how answers are shown.
type desk struct {
	url, token string
	asJSON     bool
}

func newDeliveries() *cobra.Command {
	d := &desk{}
	cmd := &cobra.Command{
		Use:   "deliveries",
		Short: "Look after the queue of deliveries",
		Long: `deliveries asks a running server about the events that it has yet to deliver to
targets, and changes what becomes of them. The token needs the role that the boot
document names under admin.role, and shows and moves its own tenant's alone.`,
		Example: `  export ROWCAST_TOKEN=$(rowcast token --sub ops --roles admin)
  rowcast deliveries stats
  rowcast deliveries pending --status failed
  rowcast deliveries requeue --target billing --since 2h`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to do: deliveries pending, stats, attempts, drain, requeue, skip or test")
		},
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&d.url, "url", "http://127.0.0.1:8080", "address of the server")
	flags.StringVar(&d.token, "token", "", "credential; defaults to the environment's ROWCAST_TOKEN, which ps does not show")
	flags.BoolVar(&d.asJSON, "json", false, "print the server's answers as they are, a line each")
	cmd.AddCommand(d.pending(), d.stats(), d.attempts(), d.drain(), d.requeue(), d.skip(), d.test())
	return cmd
}

func (d *desk) client(cmd *cobra.Command) (*client.Client, error) {
	token := d.token
	if token == "" {
		token = os.Getenv("ROWCAST_TOKEN")
	}
	return client.New(client.Config{URL: d.url, Token: token, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))})
}

// answer decodes an answer into doc, and prints it where JSON is wanted.
func (d *desk) answer(out io.Writer, doc any, raw json.RawMessage, err error) error {
	if err != nil {
		return explained(err)
	}
	if err := json.Unmarshal(raw, doc); err != nil {
		return fmt.Errorf("the server's answer is not what this version knows: %w", err)
	}
	if d.asJSON {
		_, err = out.Write(append(trimmed(raw), '\n'))
	}
	return err
}

// explained says the way out of a refusal for want of a credential or a role.
func explained(err error) error {
	problem := (*client.Problem)(nil)
	if !errors.As(err, &problem) {
		return err
	}
	switch problem.Status {
	case http.StatusUnauthorized:
		return fmt.Errorf("%w; give a token with --token or ROWCAST_TOKEN (rowcast token prints one)", err)
	case http.StatusForbidden:
		return fmt.Errorf("%w; the token must bear it (rowcast token --roles)", err)
	}
	return err
}

// work makes the body of a command from one that is given a client.
func (d *desk) work(do func(ctx context.Context, cmd *cobra.Command, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return work(func(cmd *cobra.Command, args []string) error {
		c, err := d.client(cmd)
		if err != nil {
			return err
		}
		return do(cmd.Context(), cmd, c, args)
	})
}
