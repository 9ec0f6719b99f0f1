package post

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

const (
	maxError = 300 // bytes of Result.Error
	maxPlace = 180 // bytes of a redirect's place within it
)

// timedOut reports whether err is that of a deadline.
func timedOut(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// explain says what went wrong, and where, to a person.
func (a *attempt) explain(err error) string {
	return printable(a.say(err), maxError)
}

func (a *attempt) say(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, errLate):
		return fmt.Sprintf("timeout after %s while %s", a.poster.target.Timeout, a.phase)
	case errors.Is(err, errCancelled):
		return "the attempt was given up while " + string(a.phase)
	case errors.Is(err, errRefusedAddress):
		return refusal(err) + ": link-local, cloud metadata and other special addresses are no targets"
	case errors.As(err, &dns):
		return sayDNS(dns)
	case a.phase == greeting:
		return "TLS: " + sayTLS(err)
	}
	return a.sayConnection(err)
}

// refusal takes the guard's own words out of what the dialler wrapped around them.
func refusal(err error) string {
	text := err.Error()
	if from := strings.Index(text, errRefusedAddress.Error()); from >= 0 {
		return text[from:]
	}
	return errRefusedAddress.Error()
}

func sayDNS(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "DNS: no such host " + err.Name
	case err.IsTimeout:
		return "DNS: no answer about " + err.Name + " in time"
	default:
		return "DNS: " + err.Name + " could not be resolved: " + err.Err
	}
}

// sayConnection explains what happened to the connection or the answer. a.phase
// tells when.
func (a *attempt) sayConnection(err error) string {
	to := a.poster.dialer.addr
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused by " + to
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNABORTED):
		return "connection reset while " + string(a.phase)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to " + to
	case timedOut(err):
		return "timeout while " + string(a.phase)
	case errors.Is(err, errNotHTTP) && a.poster.dialer.tls == nil:
		return err.Error() + "; does the port speak TLS?"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "the connection was closed while " + string(a.phase)
	}
	if alert := alertOf(err); alert != "" { // with TLS 1.3 it may come after the handshake
		return "TLS: " + alert
	}
	return err.Error()
}

// alertOf says what the receiver's alert was; "" where err is none.
func alertOf(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return "the receiver refuses: " + op.Err.Error()
	}
	return ""
}

func sayTLS(err error) string {
	var (
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &host):
		return "the certificate is not for " + host.Host + names(host.Certificate)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return fmt.Sprintf("the certificate is valid from %s to %s only",
			invalid.Cert.NotBefore.UTC().Format("2006-01-02"), invalid.Cert.NotAfter.UTC().Format("2006-01-02"))
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority"
	case errors.As(err, &record):
		return "the receiver does not speak it; is it a plain http port?"
	case alertOf(err) != "":
		return alertOf(err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed in the handshake"
	}
	var unverified *tls.CertificateVerificationError
	if errors.As(err, &unverified) {
		return unverified.Err.Error()
	}
	return err.Error()
}

// names says for whom a certificate is: the first of its names.
func names(c *x509.Certificate) string {
	switch {
	case c == nil:
		return ""
	case len(c.DNSNames) > 0:
		return ", it is for " + c.DNSNames[0]
	case len(c.IPAddresses) > 0:
		return ", it is for " + c.IPAddresses[0].String()
	default:
		return ""
	}
}

// printable returns text as valid UTF-8 of at most limit bytes that a terminal
// and a log line take as it stands: what is not graphic is escaped.
func printable(text string, limit int) string {
	const cut = "…"
	var b strings.Builder
	end := 0 // of what fits with the cut behind it
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		shown := text[:size]
		switch {
		case r == utf8.RuneError && size == 1:
			shown = `\x` + strconv.FormatUint(uint64(text[0])|0x100, 16)[1:]
		case !unicode.IsPrint(r):
			quoted := strconv.QuoteRuneToASCII(r)
			shown = quoted[1 : len(quoted)-1]
		}
		if b.Len()+len(shown) > limit {
			return b.String()[:end] + cut
		}
		b.WriteString(shown)
		if b.Len() <= limit-len(cut) {
			end = b.Len()
		}
		text = text[size:]
	}
	return b.String()
}
