// Command rowcast serves a declared schema, and has what goes with it: check,
// token, tail, deliveries, receive, import, export, ready, types, init.
//
// Exit status: 0 when done, 1 when refused or failed, 2 when called wrongly.
// SIGINT and SIGTERM end serve and tail in good order; a second one ends the
// process at once. Results go to stdout, everything else to stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from now on a second signal has its usual effect
	status := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// execute runs one command line and returns its exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	// Standard error is where to say that it cannot be written to.
	if refusals := (document.Refusals)(nil); errors.As(err, &refusals) {
		_ = refusals.Print(stderr)
		return exitFailed
	}
	_, _ = fmt.Fprintf(stderr, "rowcast: %v\n", err)
	if failed := (failure{}); errors.As(err, &failed) {
		return exitFailed
	}
	_, _ = fmt.Fprintf(stderr, "Run '%s --help' for how to use it.\n", ran.CommandPath())
	return exitUsage
}

// failure is an error of the work itself, not of how the command was called.
type failure struct{ cause error }

func (f failure) Error() string { return f.cause.Error() }
func (f failure) Unwrap() error { return f.cause }

// work marks the errors of a command's body, so that the rest are usage.
func work(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := body(cmd, args); err != nil {
			return failure{err}
		}
		return nil
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "rowcast",
		Short: "Serve a declared schema, and stream its committed changes",
		Long: `rowcast serves a declared schema as a REST data API, and streams every committed
row change to each subscriber as that subscriber may read it.

Exit status: 0 when done, 1 when refused or failed, 2 when called wrongly.`,
		Example: `  rowcast init shop
  rowcast serve --config shop/rowcast.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newServe(), newCheck(), newToken(), newTail(), newDeliveries(), newReceive(), newImport(), newExport(), newReady(), newTypes(), newInit(), newVersion())
	return root
}
