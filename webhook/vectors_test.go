package webhook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

// vector is one line of testdata/signatures.json.
type vector struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Secret     string `json:"secret"`
	SecretB64  string `json:"secret_b64"`
	Body       string `json:"body"`
	BodyB64    string `json:"body_b64"`
	BodyRepeat *struct {
		Byte  string `json:"byte"`
		Count int    `json:"count"`
	} `json:"body_repeat"`

	Timestamp string `json:"timestamp"`
	Signature string `json:"signature"`

	StandardID        string `json:"webhook_id"`
	StandardTimestamp string `json:"webhook_timestamp"`
	StandardSignature string `json:"webhook_signature"`
	Verifies          bool   `json:"verifies"`
}

func vectors(t *testing.T) (kisai, standard []vector) {
	t.Helper()
	text, err := os.ReadFile("testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		C1       []vector `json:"c1"`
		Standard []vector `json:"standardwebhooks"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if len(document.C1) < 11 || len(document.Standard) < 5 {
		t.Fatalf("%d and %d vectors found", len(document.C1), len(document.Standard))
	}
	return document.C1, document.Standard
}

// secret and body prefer the exact bytes over the readable text.
func (v vector) secret(t *testing.T) string {
	t.Helper()
	if v.SecretB64 == "" {
		return v.Secret
	}
	return string(decode(t, v.SecretB64))
}

func (v vector) body(t *testing.T) []byte {
	t.Helper()
	switch {
	case v.BodyRepeat != nil:
		return bytes.Repeat([]byte(v.BodyRepeat.Byte), v.BodyRepeat.Count)
	case v.BodyB64 != "":
		return decode(t, v.BodyB64)
	}
	return []byte(v.Body)
}

func decode(t *testing.T, text string) []byte {
	t.Helper()
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func at(t *testing.T, timestamp string) time.Time {
	t.Helper()
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(seconds, 0)
}

// Every vector comes out of Sign as it is written, and verifies; with another
// body, timestamp or secret it does not.
func TestKisaiVectors(t *testing.T) {
	vectors, _ := vectors(t)
	for _, v := range vectors {
		t.Run(v.ID+" "+v.Name, func(t *testing.T) {
			secret, body, now := v.secret(t), v.body(t), at(t, v.Timestamp)
			if got := webhook.Sign(secret, v.Timestamp, body); got != v.Signature {
				t.Errorf("signed %s, want %s", got, v.Signature)
			}
			h := http.Header{}
			h.Set(webhook.HeaderDelivery, "U1")
			h.Set(webhook.HeaderTimestamp, v.Timestamp)
			h.Set(webhook.HeaderSignature, v.Signature)
			want := webhook.Delivery{ID: "U1", Scheme: webhook.Kisai}
			if got, err := webhook.VerifyAt(h, body, []string{secret}, 0, now); err != nil || got != want {
				t.Errorf("verified %+v, %v; want %+v", got, err, want)
			}
			if _, err := webhook.VerifyAt(h, append(body, ' '), []string{secret}, 0, now); err == nil {
				t.Error("another body verifies")
			}
			if _, err := webhook.VerifyAt(h, body, []string{secret + " "}, 0, now); err == nil {
				t.Error("another secret verifies")
			}
			h.Set(webhook.HeaderTimestamp, "0"+v.Timestamp)
			if _, err := webhook.VerifyAt(h, body, []string{secret}, 0, now); err == nil {
				t.Error("the same time written otherwise verifies")
			}
		})
	}
}

// A vector that verifies holds just the signature that SignStandard makes.
func TestStandardVectors(t *testing.T) {
	_, vectors := vectors(t)
	for _, v := range vectors {
		t.Run(v.ID+" "+v.Name, func(t *testing.T) {
			secret, body, now := v.secret(t), v.body(t), at(t, v.StandardTimestamp)
			signed := webhook.SignStandard(secret, v.StandardID, v.StandardTimestamp, body)
			if got := bytes.Contains([]byte(v.StandardSignature), []byte(signed)); got != v.Verifies {
				t.Errorf("%s is in %s: %v, want %v", signed, v.StandardSignature, got, v.Verifies)
			}
			h := http.Header{}
			h.Set(webhook.HeaderID, v.StandardID)
			h.Set(webhook.HeaderStandardTimestamp, v.StandardTimestamp)
			h.Set(webhook.HeaderStandardSignature, v.StandardSignature)
			got, err := webhook.VerifyAt(h, body, []string{secret}, 0, now)
			if (err == nil) != v.Verifies {
				t.Errorf("verified %+v, %v", got, err)
			}
			if want := (webhook.Delivery{ID: v.StandardID, Scheme: webhook.Standard}); err == nil && got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}
