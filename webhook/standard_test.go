package webhook_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rowcast/rowcast/webhook"
)

// library is the public library with a secret as its users have to give it.
func library(t *testing.T, secret string) *standardwebhooks.Webhook {
	t.Helper()
	open := standardwebhooks.NewWebhook
	if !strings.HasPrefix(secret, "whsec_") {
		open = func(s string) (*standardwebhooks.Webhook, error) { return standardwebhooks.NewWebhookRaw([]byte(s)) }
	}
	w, err := open(secret)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// What is signed here verifies with the library of Standard Webhooks under each
// of the secrets, and what that library signs verifies here.
func TestThePublicLibraryAgrees(t *testing.T) {
	when := time.Now()
	h := signed(when, secret, oldSecret)
	for _, s := range []string{secret, oldSecret} {
		if err := library(t, s).Verify(body, h); err != nil {
			t.Errorf("its verdict on ours: %v", err)
		}
		if err := library(t, s).Verify(append(body, ' '), h); err == nil {
			t.Error("it takes another body")
		}
		signature, err := library(t, s).Sign(delivery.ID, when, body)
		if err != nil {
			t.Fatal(err)
		}
		theirs := http.Header{}
		for _, name := range []string{webhook.HeaderID, webhook.HeaderStandardTimestamp} {
			theirs.Set(name, h.Get(name))
		}
		theirs.Set(webhook.HeaderStandardSignature, signature)
		want := webhook.Delivery{ID: delivery.ID, Scheme: webhook.Standard}
		if got, err := webhook.Verify(theirs, body, []string{"another", s}, 0); err != nil || got != want {
			t.Errorf("our verdict on theirs: %+v, %v", got, err)
		}
	}
	if err := library(t, "another").Verify(body, h); err == nil {
		t.Error("it takes another secret")
	}
}
