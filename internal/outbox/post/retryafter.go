package post

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestWish bounds a Retry-After, so that no arithmetic with it overflows.
const longestWish = 365 * 24 * time.Hour

// retryAfter reads the value of a Retry-After header, seconds or an HTTP date:
// how long to wait from now on. It is never negative, and 0 for anything else.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 64)
		if err != nil || seconds > uint64(longestWish/time.Second) {
			return longestWish // only digits: too many of them
		}
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(date.Sub(now), 0), longestWish) // Sub saturates
}
