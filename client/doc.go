// Package client talks to a rowcast server: it reads and writes rows, and it
// follows a stream of changes that resumes by itself.
//
// A [Stream] is what EventSource is in a browser, and a little more. It follows
// a declared [Subscription], or a [Channel] of an entity or a row. It
// reconnects after a lost connection, a restart of the server or an answer of
// 5xx, waits as the server's retry field says (longer after each failure),
// sends Last-Event-ID, and so sees each event once, in order, as long as the
// server still has it in its log. What can no longer be filled arrives as an
// [Event] with Gap set: read the rows again. An answer of 4xx ends the stream
// with a [Problem] that says what to change.
//
// An event counts as seen when the handler has returned nil. Keep
// [Stream.Position] where the result of the handler is kept, and hand it back
// as LastEventID of the source, to go on after a restart of your own.
//
// A [Client] is safe for concurrent use. A [Stream] runs on the goroutine that
// called Run, starts none of its own and leaves none behind. The package
// imports nothing of rowcast.
package client
