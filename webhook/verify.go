package webhook

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// DefaultTolerance is how far a timestamp may be from the receiver's clock, either
// way.
const DefaultTolerance = 5 * time.Minute

// What keeps a delivery from being verified. Errors of Verify wrap one of these.
var (
	// ErrSecret: the receiver's own configuration is wrong, not the delivery.
	ErrSecret = errors.New("webhook: a secret cannot be used")
	// ErrUnsigned: there is no signature, or none of a scheme that is required.
	ErrUnsigned = errors.New("webhook: not signed")
	// ErrHeader: a header that belongs to a signature is missing, malformed or
	// there twice.
	ErrHeader = errors.New("webhook: a header is wrong")
	// ErrTimestamp: signed too long ago, or in the future.
	ErrTimestamp = errors.New("webhook: the timestamp is too far from this machine's clock")
	// ErrSignature: signed with another secret, or the body or id was changed.
	ErrSignature = errors.New("webhook: the signature is not that of this body under any secret known here")
)

// Verify says who a request is from: it returns the delivery that h describes if
// somebody who knows one of the secrets signed just this body, no further from now
// than tolerance (0: DefaultTolerance).
//
// Either scheme does, and each one that is there has to verify. During a rotation
// give the old and the new secret. Body is the bytes as they came. Errors wrap
// ErrSecret, ErrUnsigned, ErrHeader, ErrTimestamp or ErrSignature.
func Verify(h http.Header, body []byte, secrets []string, tolerance time.Duration) (Delivery, error) {
	return VerifyAt(h, body, secrets, tolerance, time.Now())
}

// VerifyAt is Verify by the clock of the caller.
func VerifyAt(h http.Header, body []byte, secrets []string, tolerance time.Duration, now time.Time) (Delivery, error) {
	if err := checkSecrets(secrets); err != nil {
		return Delivery{}, err
	}
	c, err := readClaim(h, tolerance, now)
	if err != nil {
		return Delivery{}, err
	}
	return c.verify(body, secrets)
}

func checkSecrets(secrets []string) error {
	if len(secrets) == 0 {
		return fmt.Errorf("%w: there is none", ErrSecret)
	}
	for i, secret := range secrets {
		if err := CheckSecret(secret); err != nil {
			return fmt.Errorf("%w (secret %d of %d)", err, i+1, len(secrets))
		}
	}
	return nil
}

// claim is what the headers say, well-formed and near in time, and not yet
// verified.
type claim struct {
	delivery                       Delivery // Scheme: what there is to verify
	timestamp, signature           string
	standardTimestamp, standardSig string
}

// readClaim judges all that can be judged without the body.
func readClaim(h http.Header, tolerance time.Duration, now time.Time) (c claim, err error) {
	var kisaiID, id string
	for _, field := range []struct {
		name string
		to   *string
	}{
		{HeaderDelivery, &kisaiID},
		{HeaderTopic, &c.delivery.Topic},
		{HeaderEvent, &c.delivery.Event},
		{HeaderTimestamp, &c.timestamp},
		{HeaderSignature, &c.signature},
		{HeaderID, &id},
		{HeaderStandardTimestamp, &c.standardTimestamp},
		{HeaderStandardSignature, &c.standardSig},
	} {
		switch values := h.Values(field.name); len(values) {
		case 0:
		case 1:
			*field.to = values[0]
		default: // which one was verified would be a matter of who reads it
			return c, fmt.Errorf("%w: %s is there %d times", ErrHeader, field.name, len(values))
		}
	}
	// A header that is there and empty is there.
	if has(h, HeaderSignature) {
		c.delivery.Scheme |= Kisai
		if err := checkTimestamp(HeaderTimestamp, c.timestamp, tolerance, now); err != nil {
			return c, err
		}
	}
	if has(h, HeaderStandardSignature) {
		c.delivery.Scheme |= Standard
		if err := checkTimestamp(HeaderStandardTimestamp, c.standardTimestamp, tolerance, now); err != nil {
			return c, err
		}
	}
	if c.delivery.Scheme == 0 {
		return c, fmt.Errorf("%w: neither %s nor %s is there", ErrUnsigned, HeaderSignature, HeaderStandardSignature)
	}
	c.delivery.ID, err = chooseID(c.delivery.Scheme, kisaiID, id)
	return c, err
}

func has(h http.Header, name string) bool { return len(h.Values(name)) > 0 }

// chooseID returns the id that a signature covers, where one does. Two that differ
// are refused: a receiver might remember the one and verify the other.
func chooseID(s Scheme, kisai, standard string) (string, error) {
	id, name := kisai, HeaderDelivery
	if s.Has(Standard) || kisai == "" {
		id, name = standard, HeaderID
	}
	if err := checkID(name, id); err != nil {
		return "", err
	}
	if kisai != "" && standard != "" && kisai != standard {
		return "", fmt.Errorf("%w: %s and %s differ", ErrHeader, HeaderDelivery, HeaderID)
	}
	return id, nil
}

// checkID refuses what could be read as an id and a timestamp, and what nobody
// wants in a log.
func checkID(name, id string) error {
	if id == "" {
		return fmt.Errorf("%w: %s is missing", ErrHeader, name)
	}
	for _, b := range []byte(id) {
		if b <= ' ' || b > '~' || b == '.' {
			return fmt.Errorf("%w: %s has a character that no id has", ErrHeader, name)
		}
	}
	if len(id) > 255 {
		return fmt.Errorf("%w: %s is longer than an id", ErrHeader, name)
	}
	return nil
}

// checkTimestamp takes decimal digits alone: a sign, a blank or a fraction would be
// one text to who signs and another to who parses.
func checkTimestamp(name, text string, tolerance time.Duration, now time.Time) error {
	if text == "" {
		return fmt.Errorf("%w: %s is missing", ErrHeader, name)
	}
	if strings.Trim(text, "0123456789") != "" {
		return fmt.Errorf("%w: %s has to be seconds since 1970, in decimal digits", ErrHeader, name)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(text) > 18 { // beyond what a time.Time holds
		return fmt.Errorf("%w (%s)", ErrTimestamp, name)
	}
	if tolerance <= 0 {
		tolerance = DefaultTolerance
	}
	if now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return fmt.Errorf("%w (%s)", ErrTimestamp, name)
	}
	return nil
}

// verify judges the signatures that are there. The secrets are checked.
func (c claim) verify(body []byte, secrets []string) (Delivery, error) {
	kisai, standard := !c.delivery.Scheme.Has(Kisai), !c.delivery.Scheme.Has(Standard)
	given := strings.Split(c.standardSig, " ")
	for _, secret := range secrets {
		if !kisai {
			kisai = equal(c.signature, Sign(secret, c.timestamp, body))
		}
		if !standard {
			standard = anyEqual(given, SignStandard(secret, c.delivery.ID, c.standardTimestamp, body))
		}
	}
	switch {
	case !kisai:
		return Delivery{}, fmt.Errorf("%w (%s)", ErrSignature, HeaderSignature)
	case !standard:
		return Delivery{}, fmt.Errorf("%w (%s)", ErrSignature, HeaderStandardSignature)
	}
	return c.delivery, nil
}

// anyEqual passes over signatures of versions that are not known here.
func anyEqual(given []string, want string) bool {
	found := false
	for _, signature := range given {
		found = equal(signature, want) || found
	}
	return found
}

// equal takes as long for a wrong text as for a right one of its length.
func equal(got, want string) bool { return hmac.Equal([]byte(got), []byte(want)) }
