package servertest

import (
	"net/http"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

// Received is one request as a Receiver got it. ID, Topic and Event are what its
// headers say.
type Received struct {
	webhook.Delivery
	Header http.Header
	Host   string
	Path   string // with the query
	Method string
	Body   []byte
	At     time.Time // of the request's end
	Err    error     // why it does not verify; nil where it does
	Reply  Reply     // what it was, or is to be, answered
}

// Reply is what a Receiver says to a request. The zero Reply is 200.
type Reply struct {
	Status int // 0: 200
	Header http.Header
	Body   string
	Delay  time.Duration   // before it is given
	Until  <-chan struct{} // closed when it may be given; nil: at once
}

// Replies returns the replies of these statuses.
func Replies(statuses ...int) []Reply {
	all := make([]Reply, len(statuses))
	for i, status := range statuses {
		all[i].Status = status
	}
	return all
}

// IDs returns the ids of deliveries in the order they first came, each once.
func IDs(all []Received) (ids []string) {
	seen := map[string]bool{}
	for _, got := range all {
		if !seen[got.ID] {
			seen[got.ID] = true
			ids = append(ids, got.ID)
		}
	}
	return ids
}
