package admin

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/rowcast/rowcast/internal/store"
)

// place is where a list goes on: behind a delivery, by what it is ordered by. The
// delivery itself need not be there any more.
type place struct {
	live bool
	id   string
}

// sumBytes is how much of a checksum a cursor carries.
const sumBytes = 8

// cursor writes down the place behind d. It holds nothing that the page did not
// show, and leads to nothing but a page of the same list, so it is checked and not
// sealed: any instance takes it, also after a restart.
func (q page) cursor(d *store.Delivery) string {
	text := append([]byte{byte(live(d))}, d.ID...)
	return base64.RawURLEncoding.EncodeToString(append(text, q.sum(text)...))
}

// open returns the place that a cursor of this very list names.
func (q page) open(cursor string) (place, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= sumBytes+1 || strings.ContainsAny(cursor, "\r\n") { // the decoder passes over line breaks
		return place{}, false
	}
	text, sum := raw[:len(raw)-sumBytes], raw[len(raw)-sumBytes:]
	at := place{live: text[0] == 1, id: string(text[1:])}
	return at, text[0] <= 1 && deliveryID.MatchString(at.id) && bytes.Equal(sum, q.sum(text))
}

// sum binds a place to the tenant and the filter; the limit may change from page to page.
func (q page) sum(text []byte) []byte {
	h := sha256.New()
	for _, part := range [][]byte{[]byte("rowcast pending 1"), []byte(q.tenant), []byte(q.target), {byte(q.status)}, text} {
		sum := sha256.Sum256(part) // of one length each, so that no two lists are written alike
		h.Write(sum[:])
	}
	return h.Sum(nil)[:sumBytes]
}
