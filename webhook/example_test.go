package webhook_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

// A receiver verifies the bytes as they came, before it parses any of them.
func ExampleVerify() {
	secrets := []string{"the current secret", "the one before"}
	receive := func(r *http.Request) string {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			return err.Error()
		}
		d, err := webhook.Verify(r.Header, body, secrets, 0)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s, signed by %v: %s", d.ID, d.Scheme, body)
	}

	r := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(`{"type":"entity.create"}`))
	d := webhook.Delivery{ID: "U01M2P1R18V26CMVBZ1DC0AS1Z1", Topic: "entity.order", Event: "entity.create"}
	webhook.SetHeaders(r.Header, d, secrets[:1], time.Now(), []byte(`{"type":"entity.create"}`))
	fmt.Println(receive(r))

	r = httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(`{"type":"entity.delete"}`))
	webhook.SetHeaders(r.Header, d, secrets[:1], time.Now(), []byte(`{"type":"entity.create"}`))
	fmt.Println(receive(r))
	// Output:
	// U01M2P1R18V26CMVBZ1DC0AS1Z1, signed by X-Kisai-Signature+webhook-signature: {"type":"entity.create"}
	// webhook: the signature is not that of this body under any secret known here (X-Kisai-Signature)
}

// With a memory each delivery is handled once, however often it comes.
func ExampleMiddleware() {
	handled := map[string]bool{} // a table with a unique key, in earnest
	receiver := webhook.Middleware(webhook.Options{
		Secrets:  []string{"the current secret", "the one before"},
		Seen:     func(_ context.Context, id string) (bool, error) { return handled[id], nil },
		Remember: func(_ context.Context, id string) error { handled[id] = true; return nil },
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, _ := webhook.FromContext(r.Context())
		fmt.Println("handling", d.ID)
		w.WriteHeader(http.StatusNoContent)
	}))

	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader("{}"))
		webhook.SetHeaders(r.Header, webhook.Delivery{ID: "U1"}, []string{"the current secret"}, time.Now(), []byte("{}"))
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// handling U1
	// 204
	// 200
}
