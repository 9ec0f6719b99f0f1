// Package webhook signs what a rowcast server posts to its targets, and verifies
// it at the receiver.
//
// Each delivery is signed twice over, so that a receiver may choose:
//
//   - X-Kisai-Signature is the lower-case hex HMAC-SHA256 of "TIMESTAMP.BODY",
//     under the bytes of the secret as they are written down. It covers neither
//     the delivery's id nor topic nor event name.
//   - webhook-signature is of [Standard Webhooks]: the HMAC of
//     "ID.TIMESTAMP.BODY", one for each secret of a rotation. It covers the id.
//
// A receiver in Go wraps its handler in [Middleware], or calls [Verify] with the
// body's bytes as they came, before it parses any of them. What is verified is
// that somebody who knows a secret signed just these bytes not long ago. Topic
// and event name are in no signature: go by the body.
//
// # Exactly once
//
// Deliveries come at least once: an answer may be lost on its way, and then the
// same delivery comes again with the same id and the same body. A receiver that
// remembers the ids it has handled makes that exactly once. It is right under
// crashes where the id is written down in the very transaction of the work:
//
//	d, _ := webhook.FromContext(ctx)
//	// BEGIN; INSERT INTO handled (id) VALUES (d.ID); … the work …; COMMIT
//
// with a unique key on id; where that key is violated the work was done, and the
// answer is 200. Options.Seen then only spares the handler the repeats. Where
// work and memory cannot share a transaction use Options.Seen and
// Options.Remember: a crash between the two does the work once more, none of it
// is lost, and a failed handler is never remembered.
//
// # Guarantees
//
// Signatures are compared in constant time. No error, and no answer of the
// middleware, contains a secret, a signature that would be right, or a body. An
// empty secret is never used. Nothing is read of a body before the headers are in
// order and the timestamp is near, and never more than Options.MaxBody.
//
// All functions are safe for concurrent use, and start no goroutine. The package
// imports nothing but the standard library.
//
// [Standard Webhooks]: https://www.standardwebhooks.com
package webhook
