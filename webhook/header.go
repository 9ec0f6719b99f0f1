package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery.
const (
	HeaderDelivery  = "X-Kisai-Delivery"  // the delivery's id, the same at each attempt
	HeaderTopic     = "X-Kisai-Topic"     // where the event was published
	HeaderEvent     = "X-Kisai-Event"     // its type, such as entity.create
	HeaderTimestamp = "X-Kisai-Timestamp" // of the attempt, in seconds since 1970
	HeaderSignature = "X-Kisai-Signature" // see Sign

	HeaderID                = "webhook-id"        // the delivery's id again
	HeaderStandardTimestamp = "webhook-timestamp" // the same timestamp
	HeaderStandardSignature = "webhook-signature" // one SignStandard for each secret, separated by a blank
)

// Scheme is a set of ways to sign.
type Scheme uint8

// The schemes.
const (
	Kisai    Scheme = 1 << iota // X-Kisai-Signature
	Standard                    // webhook-signature
)

// Has reports whether all of other are among s.
func (s Scheme) Has(other Scheme) bool { return s&other == other }

// String names the headers of the signatures.
func (s Scheme) String() string {
	var names []string
	if s.Has(Kisai) {
		names = append(names, HeaderSignature)
	}
	if s.Has(Standard) {
		names = append(names, HeaderStandardSignature)
	}
	return strings.Join(names, "+")
}

// Delivery is what the headers say of a delivery.
type Delivery struct {
	ID    string // the same at each attempt
	Topic string // in no signature
	Event string // in no signature; the body's type is
	// Scheme is set by Verify: what verified. Without Standard among it, the ID is
	// in no signature either, and a captured delivery may come under another one
	// for as long as its timestamp is near.
	Scheme Scheme
}

// SetHeaders sets all headers of one attempt at a delivery, signed at the time
// now: X-Kisai-Signature by secrets[0], the current one, and webhook-signature by
// each. Without a secret the attempt bears no signature, and no receiver takes it.
func SetHeaders(h http.Header, d Delivery, secrets []string, now time.Time, body []byte) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	h.Set(HeaderDelivery, d.ID)
	h.Set(HeaderTopic, d.Topic)
	h.Set(HeaderEvent, d.Event)
	h.Set(HeaderTimestamp, timestamp)
	h.Set(HeaderID, d.ID)
	h.Set(HeaderStandardTimestamp, timestamp)
	h.Del(HeaderSignature)
	h.Del(HeaderStandardSignature)
	if len(secrets) == 0 {
		return
	}
	h.Set(HeaderSignature, Sign(secrets[0], timestamp, body))
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signatures[i] = SignStandard(secret, d.ID, timestamp, body)
	}
	h.Set(HeaderStandardSignature, strings.Join(signatures, " "))
}
