package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rowcast/rowcast/webhook"
	"github.com/spf13/cobra"
)

// secretVariable holds a secret where no flag does: ps shows flags.
const secretVariable = "ROWCAST_WEBHOOK_SECRET" // #nosec G101 -- a name, and no secret

func newReceive() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receive",
		Short: "Receive deliveries, verify them and print them",
		Long: `receive is a receiver of webhooks to try a target with: it verifies each delivery and prints it on a line,
with what it answers, or says why one does not verify. With --fail, --status and --delay it plays a
receiver that does not do well. Once ready it prints "listening on URL", with --json on stderr. It is for
development: it remembers nothing after its end.

The secret is the target's in the boot document: from --secret, --secret-file, or else
the environment's ` + secretVariable + `, which ps does not show. Of several any one will do.`,
		Example: `  ` + secretVariable + `=a-shared-secret rowcast receive
  rowcast receive --secret-file secrets.txt --json | jq .body.subject
  rowcast receive --secret a-shared-secret --fail 3              # is it sent again? when?
  rowcast receive --secret a-shared-secret --delay 15s           # longer than the target's timeout
  rowcast receive --secret a-shared-secret --listen 127.0.0.1:0 --path /hooks/orders --once`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	var o receiveOptions
	flags.StringArrayVar(&o.secrets, "secret", nil, "secret of the target, a `text`; may be repeated, for a rotation")
	flags.StringVar(&o.file, "secret-file", "", "`file` with a secret on each line")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:9000", "where to listen; port 0 is any")
	flags.StringVar(&o.path, "path", "/", "take deliveries at this path only; / is any")
	flags.IntVar(&o.status, "status", http.StatusOK, "answer with this status")
	flags.IntVar(&o.fail, "fail", 0, "answer the first `n` deliveries with 500, or with --status, and then with 200")
	flags.DurationVar(&o.delay, "delay", 0, "wait before each answer")
	flags.IntVar(&o.count, "count", 0, "end after `n` deliveries that verified; 0 is never")
	flags.BoolVar(&o.once, "once", false, "end after one: --count 1")
	flags.BoolVar(&o.json, "json", false, "print an object a line")
	// What cannot be done as asked is a wrong call, not a failure of the work.
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return o.complete(flags.Changed("status")) }
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error { return receive(cmd, o) })
	return cmd
}

// receiveOptions say how to receive.
type receiveOptions struct {
	secrets            []string
	file, listen, path string
	status             int // the usual answer; of a failing receiver the first ones
	fail, count        int
	delay              time.Duration
	once, json         bool
}

// complete reads the secrets, and judges all the rest.
func (o *receiveOptions) complete(statusGiven bool) error {
	if err := o.readSecrets(); err != nil {
		return err
	}
	switch {
	case !strings.HasPrefix(o.path, "/"):
		return fmt.Errorf("--path %q: a path begins with /", o.path)
	case o.status < http.StatusOK || o.status > 599:
		return fmt.Errorf("--status %d: an answer is from 200 to 599", o.status)
	case o.fail < 0 || o.count < 0 || o.delay < 0:
		return errors.New("--fail, --count and --delay cannot be below 0")
	case o.once && o.count > 1:
		return errors.New("--once is --count 1: leave one of them out")
	}
	if o.once {
		o.count = 1
	}
	if o.fail > 0 && !statusGiven {
		o.status = http.StatusInternalServerError
	}
	return nil
}

func (o *receiveOptions) readSecrets() error {
	if o.file != "" {
		text, err := os.ReadFile(o.file)
		if err != nil {
			return fmt.Errorf("--secret-file: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if secret := strings.TrimRight(line, "\r\n"); secret != "" {
				o.secrets = append(o.secrets, secret)
			}
		}
	}
	if secret := os.Getenv(secretVariable); len(o.secrets) == 0 && secret != "" {
		o.secrets = []string{secret}
	}
	if len(o.secrets) == 0 {
		return fmt.Errorf("no secret to verify with: give the target's with %s, --secret-file or --secret", secretVariable)
	}
	for _, secret := range o.secrets {
		if err := webhook.CheckSecret(secret); err != nil {
			return err
		}
	}
	return nil
}

// answer returns the status for the n-th delivery, from 1.
func (o *receiveOptions) answer(n int) int {
	if o.fail > 0 && n > o.fail {
		return http.StatusOK
	}
	return o.status
}

// receive serves until the process is told to end, or has received enough.
func receive(cmd *cobra.Command, o receiveOptions) error {
	ctx, enough := context.WithCancel(cmd.Context())
	defer enough()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newReceiver(o, cmd.OutOrStdout(), enough),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	ready := cmd.OutOrStdout()
	if o.json { // nothing but objects stands on stdout
		ready = cmd.ErrOrStderr()
	}
	_, _ = fmt.Fprintf(ready, "listening on http://%s\n", l.Addr()) // whoever reads it may have gone
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// What is being answered is answered; nobody is waited for longer.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		_ = server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
