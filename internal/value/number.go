package value

import (
	"math"
	"strconv"
)

// number is a JSON number taken apart: ±digits × 10^exp, without zeros at
// either end of digits. Zero has no digits.
type number struct {
	negative bool
	digits   string
	exp      int64
}

// scanNumber reads exactly one number of JSON's grammar.
func scanNumber(s string) (number, bool) {
	var n number
	if s != "" && s[0] == '-' {
		n.negative = true
		s = s[1:]
	}
	whole := countDigits(s)
	if whole == 0 || (whole > 1 && s[0] == '0') {
		return n, false
	}
	digits, s := s[:whole], s[whole:]
	if s != "" && s[0] == '.' {
		frac := countDigits(s[1:])
		if frac == 0 {
			return n, false
		}
		digits += s[1 : 1+frac]
		n.exp = -int64(frac)
		s = s[1+frac:]
	}
	if s != "" {
		exp, ok := scanExponent(s)
		if !ok {
			return n, false
		}
		n.exp += exp
	}
	n.trim(digits)
	return n, true
}

func scanExponent(s string) (int64, bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s = s[1:]
	negative := false
	if s != "" && (s[0] == '+' || s[0] == '-') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" || countDigits(s) != len(s) {
		return 0, false
	}
	// Far beyond any length of digits, so that a huge exponent costs nothing.
	const limit = 1 << 40
	var exp int64
	for i := 0; i < len(s) && exp < limit; i++ {
		exp = exp*10 + int64(s[i]-'0')
	}
	if negative {
		exp = -exp
	}
	return exp, true
}

func (n *number) trim(digits string) {
	start := 0
	for start < len(digits) && digits[start] == '0' {
		start++
	}
	end := len(digits)
	for end > start && digits[end-1] == '0' {
		end--
		n.exp++
	}
	n.digits = digits[start:end]
}

func countDigits(s string) int {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// parseWhole reads a number of JSON's grammar that denotes a whole number from
// lo to hi, exactly: 5, 5.0 and 0.5e1 are the same; 5.5 is none.
func parseWhole(s string, lo, hi int64) (Value, error) {
	if i, ok := wholeOf(s); ok && i >= lo && i <= hi {
		return OfInt(i), nil
	}
	return Value{}, refuse("must be a whole number from " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10))
}

func wholeOf(s string) (int64, bool) {
	n, ok := scanNumber(s)
	const longest = 19 // digits of an int64
	switch {
	case !ok:
		return 0, false
	case n.digits == "":
		return 0, true
	case n.exp < 0, int64(len(n.digits))+n.exp > longest:
		return 0, false
	}
	text := make([]byte, 0, longest+1)
	if n.negative {
		text = append(text, '-')
	}
	text = append(text, n.digits...)
	for range n.exp {
		text = append(text, '0')
	}
	i, err := strconv.ParseInt(string(text), 10, 64)
	return i, err == nil
}

// parseDouble reads a number of JSON's grammar as the nearest double.
func parseDouble(s string) (Value, error) {
	if _, ok := scanNumber(s); ok {
		f, err := strconv.ParseFloat(s, 64)
		if err == nil && !math.IsInf(f, 0) {
			return OfFloat(f), nil
		}
	}
	return Value{}, refuse("must be a finite number, such as 1.5")
}

// appendDouble writes the shortest text that reads back as the same double, in
// the form of ECMAScript: an exponent only below 1e-6 and from 1e21.
func appendDouble(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...) // no JSON number can say it
	}
	size := math.Abs(f)
	if size == 0 || (size >= 1e-6 && size < 1e21) {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// e-07 becomes e-7
	if n := len(dst); n-start >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
