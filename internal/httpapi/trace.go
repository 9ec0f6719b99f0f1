package httpapi

import "strings"

// requestID reports whether a caller's X-Request-Id may be taken over: short,
// and of characters that no log or header can misread.
func requestID(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// traceID returns the trace id of a W3C traceparent header, or "" where the
// header is absent or malformed (a malformed one is to be ignored).
func traceID(header string) string {
	parts := strings.SplitN(header, "-", 5)
	if len(parts) < 4 || !lowerHex(parts[0], 2) || parts[0] == "ff" {
		return ""
	}
	if parts[0] == "00" && len(parts) != 4 {
		return ""
	}
	if !traceField(parts[1], 32) || !traceField(parts[2], 16) || !lowerHex(parts[3], 2) {
		return ""
	}
	return parts[1]
}

// traceField refuses the all-zero ids that the recommendation calls invalid.
func traceField(s string, n int) bool {
	return lowerHex(s, n) && strings.Trim(s, "0") != ""
}

func lowerHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
