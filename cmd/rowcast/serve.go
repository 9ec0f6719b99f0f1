package main

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

func newServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve",
		Long: `serve reads the boot document, opens the datastores and serves. Once ready it prints
"listening on URL" on stdout. A configuration that check refuses is refused with
the same lines and status 1. SIGTERM and SIGINT end the streams, finish what is
being written and close the stores.`,
		Example: `  rowcast serve --config examples/shop/rowcast.yaml
  ROWCAST_JWT_SECRET=$(openssl rand -hex 32) rowcast serve`,
		Args: cobra.NoArgs,
	}
	config := configFlag(cmd)
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		srv, err := rowcast.Open(cmd.Context(), rowcast.Config{File: *config})
		if err != nil {
			return err
		}
		l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", srv.Document().Listen)
		if err != nil {
			return errors.Join(err, srv.Close())
		}
		return serve(cmd.Context(), srv, l, cmd.OutOrStdout())
	})
	return cmd
}

// serve serves until ctx is done, and says on out when it is ready.
func serve(ctx context.Context, srv *rowcast.Server, l net.Listener, out io.Writer) error {
	ctx, ended := context.WithCancel(ctx)
	defer ended()
	var group errgroup.Group
	group.Go(func() error {
		defer ended()
		return srv.Serve(ctx, l)
	})
	select {
	case <-srv.Ready():
		url := address(srv.Document(), l.Addr())
		said := "listening on " + url + "\n"
		if srv.Document().Dev {
			said += welcome(srv.Document(), url)
		}
		_, _ = io.WriteString(out, said) // a server that nobody listens to at its terminal serves all the same
	case <-ctx.Done():
	}
	return group.Wait()
}

// address is where a browser on this machine reaches the listener.
func address(doc *boot.Document, addr net.Addr) string {
	scheme := "http"
	if doc.TLS.Cert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return scheme + "://" + addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
