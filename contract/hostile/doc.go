// Package hostile attacks a whole server from outside, over HTTP and over bare
// sockets, and holds it to four promises: whoever sends nonsense is answered
// with the documented problem code, or hung up on where it is no HTTP; nothing
// of it is written and no event tells of it; no subscriber, connection or
// goroutine of it is left; and everybody else is answered at once meanwhile.
package hostile
