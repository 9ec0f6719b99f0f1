package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Stored is the answer to [Client.Bulk].
type Stored struct {
	IDs []json.RawMessage `json:"ids"` // of the rows, in the order sent

	// Replayed is true where the same request had been carried out before under
	// its key: this one wrote nothing.
	Replayed bool `json:"-"`
}

// Bulk creates many rows in one transaction: all, or none. The rows are NDJSON,
// an object a line. With a key, which needs a caller with a credential, the same
// call may be made again where its answer was lost; "" sends none. Which rows a
// refusal is about, [Problem.Rows] knows.
func (c *Client) Bulk(ctx context.Context, entity string, rows []byte, key string) (stored Stored, err error) {
	req, err := c.request(ctx, http.MethodPost, nil, bytes.NewReader(rows), "data", entity, "bulk")
	if err != nil {
		return stored, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/x-ndjson")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	answer, header, err := c.exchange(req)
	if err != nil {
		return stored, err
	}
	if err := json.Unmarshal(answer, &stored); err != nil {
		return stored, fmt.Errorf("client: decode the answer: %w", err)
	}
	stored.Replayed = header.Get("Idempotent-Replayed") == "true"
	return stored, nil
}

// Where a refusal of many rows names one: in the field of an error as
// "[3].title", and in the detail as "[3]: …" or "element 3: …".
var (
	placedField  = regexp.MustCompile(`^\[(\d{1,9})\]\.?(.*)$`)
	placedDetail = regexp.MustCompile(`(?s)^(?:\[(\d{1,9})\]|element (\d{1,9})): (?:the body )?(.*?)(?: \(line \d+, column \d+, offset \d+\))?$`)
)

// Rows returns, of a refusal of [Client.Bulk], why each row that it names was
// refused, by the row's index from 0. It is empty where the refusal names none:
// it may be about the whole request, or about a row that it does not tell.
func (p *Problem) Rows() map[int]string {
	reasons := map[int]string{}
	add := func(index, reason string) {
		i, err := strconv.Atoi(index)
		if err != nil {
			return
		}
		if before := reasons[i]; before != "" {
			reason = before + "; " + reason
		}
		reasons[i] = reason
	}
	if m := placedDetail.FindStringSubmatch(p.Detail); m != nil {
		add(m[1]+m[2], strings.TrimSpace(m[3])+" ("+p.Code+")")
	}
	for _, e := range p.Errors {
		if m := placedField.FindStringSubmatch(e.Field); m != nil {
			add(m[1], strings.TrimSpace(m[2]+" "+e.Detail)+" ("+e.Code+")")
		}
	}
	return reasons
}
