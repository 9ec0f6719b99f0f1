package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newReady() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Say whether a server is ready, as a probe for containers",
		Long: `ready asks GET /readyz, and exits with 0 where it answers 200, else with 1 and the reason on
stderr. It needs no credential, no shell and no other program, so that it can be
the health check of an image with nothing else in it. A server that has TLS is
best asked at its admin.listen.`,
		Example: `  rowcast ready
  rowcast ready --url http://127.0.0.1:9090 --timeout 2s
  until rowcast ready; do sleep 1; done`,
		Args: cobra.NoArgs,
	}
	address := cmd.Flags().String("url", "http://127.0.0.1:8080", "address of the server")
	timeout := cmd.Flags().Duration("timeout", 5*time.Second, "how long to wait for the answer")
	// What cannot be asked is a wrong call, not a failure of the work.
	cmd.PreRunE = func(*cobra.Command, []string) error { return canAsk(*address, *timeout) }
	cmd.RunE = work(func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), *timeout)
		defer cancel()
		err := ready(ctx, strings.TrimSuffix(*address, "/")+"/readyz")
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("not ready: %s has not answered within %s", *address, *timeout)
		case err != nil:
			return fmt.Errorf("not ready: %w", err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "ready")
		return err
	})
	return cmd
}

func canAsk(address string, timeout time.Duration) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("--url %q: want http://HOST:PORT", address)
	case timeout <= 0:
		return fmt.Errorf("--timeout %s: want more than nothing, such as 5s", timeout)
	}
	return nil
}

// maxReason bounds what is repeated of an answer.
const maxReason = 4 << 10

// ready returns nil where the probe answers 200, and else why not.
func ready(ctx context.Context, probe string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, probe, nil)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true}, // no proxy of the environment: a probe asks the server itself
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxReason)) // the status says enough
	return fmt.Errorf("%s answers %s: %s", probe, resp.Status, printable(reason(said)))
}

// reason is the detail of a problem document, or else the body as it is.
func reason(body []byte) string {
	var problem struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(body, &problem) == nil && problem.Detail != "" {
		return strings.TrimPrefix(problem.Detail, "not ready: ")
	}
	return string(trimmed(body))
}
