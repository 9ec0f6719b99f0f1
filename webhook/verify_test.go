package webhook_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

const (
	secret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	oldSecret = "the secret before"
)

var (
	now      = time.Unix(1789245912, 700_000_000)
	body     = []byte(`{"id":"01M2P1R18V26CMVBZ1DC0AS1Z1","type":"entity.create"}`)
	delivery = webhook.Delivery{ID: "U01M2P1R18V26CMVBZ1DC0AS1Z1", Topic: "entity.order", Event: "entity.create"}
)

// signed returns the headers of an attempt.
func signed(when time.Time, secrets ...string) http.Header {
	h := http.Header{}
	webhook.SetHeaders(h, delivery, secrets, when, body)
	return h
}

func verified(s webhook.Scheme) webhook.Delivery {
	d := delivery
	d.Scheme = s
	return d
}

func TestHeadersOfAnAttempt(t *testing.T) {
	h := signed(now, secret, oldSecret)
	for name, want := range map[string]string{
		"X-Kisai-Delivery":  delivery.ID,
		"X-Kisai-Topic":     "entity.order",
		"X-Kisai-Event":     "entity.create",
		"X-Kisai-Timestamp": "1789245912",
		"X-Kisai-Signature": webhook.Sign(secret, "1789245912", body),
		"webhook-id":        delivery.ID,
		"webhook-timestamp": "1789245912",
		"webhook-signature": webhook.SignStandard(secret, delivery.ID, "1789245912", body) + " " +
			webhook.SignStandard(oldSecret, delivery.ID, "1789245912", body),
	} {
		if got := h.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if len(h) != 8 {
		t.Errorf("more headers than those: %v", h)
	}
	webhook.SetHeaders(h, delivery, nil, now, body)
	if _, err := webhook.VerifyAt(h, body, []string{secret}, 0, now); !errors.Is(err, webhook.ErrUnsigned) {
		t.Errorf("signed with no secret: %v", err)
	}
}

// Whichever of sender and receiver is first to know the new secret, nothing is
// refused.
func TestRotation(t *testing.T) {
	both := webhook.Kisai | webhook.Standard
	for name, c := range map[string]struct{ sender, receiver []string }{
		"before":                 {[]string{oldSecret}, []string{oldSecret}},
		"the receiver has both":  {[]string{oldSecret}, []string{secret, oldSecret}},
		"both have both":         {[]string{secret, oldSecret}, []string{secret, oldSecret}},
		"in the other order":     {[]string{secret, oldSecret}, []string{oldSecret, secret}},
		"the sender has the new": {[]string{secret}, []string{oldSecret, secret}},
		"after":                  {[]string{secret}, []string{secret}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := webhook.VerifyAt(signed(now, c.sender...), body, c.receiver, 0, now); err != nil || got != verified(both) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	// X-Kisai-Signature is by the new secret alone; who knows the old one goes by the other header.
	h := signed(now, secret, oldSecret)
	if _, err := webhook.VerifyAt(h, body, []string{oldSecret}, 0, now); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("by the old secret: %v, want ErrSignature", err)
	}
	h.Del(webhook.HeaderSignature)
	if got, err := webhook.VerifyAt(h, body, []string{oldSecret}, 0, now); err != nil || got != verified(webhook.Standard) {
		t.Errorf("by the old secret, Standard Webhooks: %+v, %v", got, err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	set := func(name, value string) func(http.Header) { return func(h http.Header) { h.Set(name, value) } }
	add := func(name, value string) func(http.Header) { return func(h http.Header) { h.Add(name, value) } }
	del := func(names ...string) func(http.Header) {
		return func(h http.Header) {
			for _, name := range names {
				h.Del(name)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(http.Header)
		want   error
	}{
		"no header at all":                     {func(h http.Header) { clear(h) }, webhook.ErrUnsigned},
		"no signature":                         {del("X-Kisai-Signature", "webhook-signature"), webhook.ErrUnsigned},
		"no timestamp":                         {del("X-Kisai-Timestamp"), webhook.ErrHeader},
		"no standard timestamp":                {del("webhook-timestamp"), webhook.ErrHeader},
		"no id":                                {del("X-Kisai-Delivery", "webhook-id"), webhook.ErrHeader},
		"no id that is signed":                 {del("webhook-id"), webhook.ErrHeader},
		"ids that differ":                      {set("X-Kisai-Delivery", "U2"), webhook.ErrHeader},
		"another id":                           {func(h http.Header) { h.Set("X-Kisai-Delivery", "U2"); h.Set("webhook-id", "U2") }, webhook.ErrSignature},
		"an id with a dot":                     {func(h http.Header) { h.Set("X-Kisai-Delivery", "U.2"); h.Set("webhook-id", "U.2") }, webhook.ErrHeader},
		"an id with a line feed":               {func(h http.Header) { h.Set("X-Kisai-Delivery", "U\n2"); h.Set("webhook-id", "U\n2") }, webhook.ErrHeader},
		"an endless id":                        {func(h http.Header) { h.Del("X-Kisai-Delivery"); h.Set("webhook-id", strings.Repeat("U", 256)) }, webhook.ErrHeader},
		"the other timestamp":                  {set("X-Kisai-Timestamp", "1789245911"), webhook.ErrSignature},
		"the other standard timestamp":         {set("webhook-timestamp", "1789245911"), webhook.ErrSignature},
		"a signature in capitals":              {func(h http.Header) { h.Set("X-Kisai-Signature", strings.ToUpper(h.Get("X-Kisai-Signature"))) }, webhook.ErrSignature},
		"half a signature":                     {func(h http.Header) { h.Set("X-Kisai-Signature", h.Get("X-Kisai-Signature")[:32]) }, webhook.ErrSignature},
		"an empty signature":                   {set("X-Kisai-Signature", ""), webhook.ErrSignature},
		"an empty standard signature":          {set("webhook-signature", ""), webhook.ErrSignature},
		"the first wrong, the other right":     {set("X-Kisai-Signature", strings.Repeat("0", 64)), webhook.ErrSignature},
		"the first right, the other wrong":     {set("webhook-signature", "v1,AAAA"), webhook.ErrSignature},
		"a version that is not known, alone":   {func(h http.Header) { h.Set("webhook-signature", "v2"+h.Get("webhook-signature")[2:]) }, webhook.ErrSignature},
		"no version":                           {func(h http.Header) { h.Set("webhook-signature", h.Get("webhook-signature")[3:]) }, webhook.ErrSignature},
		"a second signature":                   {add("X-Kisai-Signature", "x"), webhook.ErrHeader},
		"the same signature twice":             {func(h http.Header) { h.Add("X-Kisai-Signature", h.Get("X-Kisai-Signature")) }, webhook.ErrHeader},
		"a second standard signature":          {add("webhook-signature", "v1,x"), webhook.ErrHeader},
		"a second timestamp":                   {add("X-Kisai-Timestamp", "1789245912"), webhook.ErrHeader},
		"a second id":                          {add("webhook-id", delivery.ID), webhook.ErrHeader},
		"a second topic":                       {add("X-Kisai-Topic", "entity.other"), webhook.ErrHeader},
		"a timestamp with a sign":              {set("X-Kisai-Timestamp", "+1789245912"), webhook.ErrHeader},
		"a negative timestamp":                 {set("X-Kisai-Timestamp", "-1789245912"), webhook.ErrHeader},
		"a timestamp with a fraction":          {set("X-Kisai-Timestamp", "1789245912.0"), webhook.ErrHeader},
		"a timestamp with an exponent":         {set("webhook-timestamp", "1e9"), webhook.ErrHeader},
		"a timestamp with a blank":             {set("webhook-timestamp", " 1789245912"), webhook.ErrHeader},
		"a timestamp in other digits":          {set("webhook-timestamp", "١٧٨٩٢٤٥٩١٢"), webhook.ErrHeader},
		"a timestamp in hex":                   {set("webhook-timestamp", "0x6AA5B198"), webhook.ErrHeader},
		"an empty timestamp":                   {set("webhook-timestamp", ""), webhook.ErrHeader},
		"a timestamp of 18 digits":             {set("X-Kisai-Timestamp", strings.Repeat("9", 18)), webhook.ErrTimestamp},
		"a timestamp of 19 digits":             {set("X-Kisai-Timestamp", "9223372036854775807"), webhook.ErrTimestamp},
		"a timestamp no number holds":          {set("X-Kisai-Timestamp", strings.Repeat("9", 5000)), webhook.ErrTimestamp},
		"the beginning of time":                {set("webhook-timestamp", "0"), webhook.ErrTimestamp},
		"milliseconds, as others write it":     {set("webhook-timestamp", "1789245912000"), webhook.ErrTimestamp},
		"signed by somebody else":              {func(h http.Header) { webhook.SetHeaders(h, delivery, []string{"another"}, now, body) }, webhook.ErrSignature},
		"signed with nothing, by hand":         {func(h http.Header) { h.Set("X-Kisai-Signature", webhook.Sign("", "1789245912", body)) }, webhook.ErrSignature},
		"the key of Standard Webhooks as text": {func(h http.Header) { h.Set("X-Kisai-Signature", webhook.Sign(secret[6:], "1789245912", body)) }, webhook.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			h := signed(now, secret)
			c.change(h)
			got, err := webhook.VerifyAt(h, body, []string{secret, oldSecret}, 0, now)
			if !errors.Is(err, c.want) || got != (webhook.Delivery{}) {
				t.Fatalf("got %+v, %v; want %v", got, err, c.want)
			}
			for _, hidden := range []string{secret, secret[6:], oldSecret, webhook.Sign(secret, "1789245912", body), string(body)} {
				if strings.Contains(err.Error(), hidden) {
					t.Errorf("the error tells %q: %v", hidden, err)
				}
			}
		})
	}
}

// Other versions beside a good signature are passed over, and so is what is no
// signature at all.
func TestOtherSignaturesArePassedOver(t *testing.T) {
	h := signed(now, secret)
	h.Set("webhook-signature", "v1a,x  v2,y v1 , v1,AAAA "+h.Get("webhook-signature")+" v3,z")
	if got, err := webhook.VerifyAt(h, body, []string{secret}, 0, now); err != nil || got != verified(webhook.Kisai|webhook.Standard) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTolerance(t *testing.T) {
	for name, c := range map[string]struct {
		signed, tolerance time.Duration
		want              error
	}{
		"now":                             {0, 0, nil},
		"4:59 ago":                        {-5*time.Minute + time.Second, 0, nil},
		"5:01 ago":                        {-5*time.Minute - time.Second, 0, webhook.ErrTimestamp},
		"in 4:59":                         {5*time.Minute - time.Second, 0, nil},
		"in 5:01":                         {5*time.Minute + time.Second, 0, webhook.ErrTimestamp},
		"an hour ago, an hour is allowed": {-time.Hour + time.Second, time.Hour, nil},
		"ten seconds, nine are allowed":   {10 * time.Second, 9 * time.Second, webhook.ErrTimestamp},
		"less than nothing means default": {time.Minute, -time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			when := now.Truncate(time.Second)
			if _, err := webhook.VerifyAt(signed(when.Add(c.signed), secret), body, []string{secret}, c.tolerance, when); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if _, err := webhook.Verify(signed(time.Now(), secret), body, []string{secret}, 0); err != nil {
		t.Errorf("by this machine's clock: %v", err)
	}
	if _, err := webhook.Verify(signed(now.AddDate(-20, 0, 0), secret), body, []string{secret}, 0); !errors.Is(err, webhook.ErrTimestamp) {
		t.Errorf("by this machine's clock, of long ago: %v", err)
	}
}

// A secret that cannot be used is the receiver's mistake, and never verifies
// anything: not even what was signed with it.
func TestSecretsThatCannotBeUsed(t *testing.T) {
	for name, bad := range map[string]string{
		"empty":               "",
		"nothing after it":    "whsec_",
		"not base64":          "whsec_not base64!",
		"base64 for URLs":     "whsec_-_-_",
		"base64 without its ": "whsec_YWJjZA",
	} {
		t.Run(name, func(t *testing.T) {
			err := webhook.CheckSecret(bad)
			if !errors.Is(err, webhook.ErrSecret) {
				t.Errorf("CheckSecret: %v", err)
			}
			if len(bad) > 6 && strings.Contains(err.Error(), bad[6:]) {
				t.Errorf("the error tells the secret: %v", err)
			}
			if got := webhook.SignStandard(bad, "U1", "1", body); got != "" {
				t.Errorf("signed %s", got)
			}
			if _, err := webhook.VerifyAt(signed(now, bad), body, []string{secret, bad}, 0, now); !errors.Is(err, webhook.ErrSecret) {
				t.Errorf("verify: %v", err)
			}
		})
	}
	if _, err := webhook.VerifyAt(signed(now, secret), body, nil, 0, now); !errors.Is(err, webhook.ErrSecret) {
		t.Errorf("without secrets: %v", err)
	}
	for _, good := range []string{"x", secret, oldSecret, "clé-🔑", "WHSEC_x", " "} {
		if err := webhook.CheckSecret(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
