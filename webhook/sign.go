package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// standardPrefix begins a secret that Standard Webhooks reads as base64.
const standardPrefix = "whsec_"

// version begins a signature of the only kind that is made and judged here.
const version = "v1,"

// Sign returns the text of X-Kisai-Signature: the lower-case hex HMAC-SHA256 of
// the timestamp, a dot, and the body. The key is the bytes of secret as they
// stand, a prefix whsec_ included (durable delivery, "What a receiver gets").
func Sign(secret, timestamp string, body []byte) string {
	return hex.EncodeToString(sum([]byte(secret), timestamp, body))
}

// SignStandard returns a signature of Standard Webhooks, "v1," and the base64
// HMAC-SHA256 of id, timestamp and body, joined by dots. A secret that begins
// with whsec_ is base64 after that; any other is taken by its bytes. For a secret
// that CheckSecret refuses it returns "", which verifies nowhere.
func SignStandard(secret, id, timestamp string, body []byte) string {
	key, err := standardKey(secret)
	if err != nil {
		return ""
	}
	return version + base64.StdEncoding.EncodeToString(sum(key, id+"."+timestamp, body))
}

// CheckSecret says whether a secret can be signed with: it is not empty, and what
// follows whsec_ is base64 and not empty. The error is ErrSecret, and does not
// repeat the secret.
func CheckSecret(secret string) error {
	_, err := standardKey(secret)
	return err
}

func standardKey(secret string) ([]byte, error) {
	encoded, is := strings.CutPrefix(secret, standardPrefix)
	switch {
	case secret == "":
		return nil, fmt.Errorf("%w: it is empty", ErrSecret)
	case !is:
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 { // the decoder's words would tell a part of the secret
		return nil, fmt.Errorf("%w: what follows %s has to be base64, with its padding", ErrSecret, standardPrefix)
	}
	return key, nil
}

// sum is the HMAC-SHA256 of head, a dot, and body.
func sum(key []byte, head string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(head + ".")) // a hash never fails
	_, _ = mac.Write(body)
	return mac.Sum(nil)
}
