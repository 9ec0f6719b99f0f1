package sqlstate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/store"
)

func TestWhatAnErrorMeans(t *testing.T) {
	of := func(code string) error {
		return fmt.Errorf("run: %w", &pgconn.PgError{Code: code, Message: "said", Detail: "Key (title)=(secret)"})
	}
	for name, c := range map[string]struct {
		err  error
		want error // nil: the statement's own
		lost bool
	}{
		"a statement that took too long":     {of(Canceled), store.ErrTimeout, false},
		"a lock that was not got":            {of(LockTimeout), store.ErrTimeout, false},
		"a transaction that idled":           {of(IdleTimeout), store.ErrTimeout, false},
		"a full disk":                        {of("53100"), store.ErrUnavailable, false},
		"a server that stops":                {of("57P01"), store.ErrUnavailable, false},
		"a standby":                          {of("25006"), store.ErrUnavailable, false},
		"a connection the server gave up":    {of("08006"), store.ErrUnavailable, false},
		"a connection that is gone":          {io.ErrUnexpectedEOF, store.ErrUnavailable, false},
		"a connection that was closed":       {fmt.Errorf("read: %w", net.ErrClosed), store.ErrUnavailable, false},
		"a deadline":                         {context.DeadlineExceeded, store.ErrTimeout, false},
		"a caller that left":                 {context.Canceled, context.Canceled, false},
		"a unique value":                     {of(Unique), nil, false},
		"a deadlock":                         {of(Deadlock), nil, true},
		"a serialization failure":            {of(Serialization), nil, true},
		"an argument that cannot be encoded": {errors.New("cannot encode"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Wrap("write", c.err)
			if c.want != nil && !errors.Is(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if c.want == nil && (errors.Is(got, store.ErrTimeout) || errors.Is(got, store.ErrUnavailable)) {
				t.Errorf("got %v, want the statement's own error", got)
			}
			if Lost(got) != c.lost {
				t.Errorf("lost: %v, want %v", !c.lost, c.lost)
			}
			if strings.Contains(got.Error(), "secret") {
				t.Error("a value stands in the error")
			}
		})
	}
}
