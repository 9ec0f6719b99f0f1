package webhook_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/webhook"
)

// Whatever headers and body come: what verifies bears a signature that only the
// holder of a secret makes, over just what is returned.
func FuzzVerify(f *testing.F) {
	h := signed(now, secret, oldSecret)
	f.Add(h.Get(webhook.HeaderDelivery), h.Get(webhook.HeaderTimestamp), h.Get(webhook.HeaderSignature),
		h.Get(webhook.HeaderID), h.Get(webhook.HeaderStandardTimestamp), h.Get(webhook.HeaderStandardSignature), body, uint8(0b111111))
	f.Add("U1", "1789245912", webhook.Sign(secret, "1789245912", []byte("5.{}")), "U1", "1789245912", "", []byte("5.{}"), uint8(0b000111))
	f.Add("U1", "99999999999999999999", "", "U1.1789245912", "1789245912", "v1, v1,x", []byte("1789245912.x"), uint8(0b111000))
	f.Fuzz(func(t *testing.T, kisaiID, timestamp, signature, id, standardTimestamp, signatures string, body []byte, there uint8) {
		h := http.Header{}
		for i, field := range [][2]string{
			{webhook.HeaderDelivery, kisaiID}, {webhook.HeaderTimestamp, timestamp}, {webhook.HeaderSignature, signature},
			{webhook.HeaderID, id}, {webhook.HeaderStandardTimestamp, standardTimestamp}, {webhook.HeaderStandardSignature, signatures},
		} {
			if there&(1<<i) != 0 {
				h.Set(field[0], field[1])
			}
		}
		secrets := []string{secret, oldSecret}
		d, err := webhook.VerifyAt(h, body, secrets, 0, now)
		if err != nil {
			if d != (webhook.Delivery{}) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %+v, %v", d, err)
			}
			return
		}
		kisai := slices.ContainsFunc(secrets, func(s string) bool { return webhook.Sign(s, timestamp, body) == signature })
		standard := slices.ContainsFunc(secrets, func(s string) bool {
			return slices.Contains(strings.Split(signatures, " "), webhook.SignStandard(s, d.ID, standardTimestamp, body))
		})
		if d.Scheme == 0 || d.Scheme.Has(webhook.Kisai) && !kisai || d.Scheme.Has(webhook.Standard) && !standard {
			t.Fatalf("%+v verifies", d)
		}
		if d.Scheme.Has(webhook.Kisai) != (len(h.Values(webhook.HeaderSignature)) > 0) || d.Scheme.Has(webhook.Standard) != (len(h.Values(webhook.HeaderStandardSignature)) > 0) {
			t.Fatalf("%+v: a signature that is there was not judged", d)
		}
	})
}
