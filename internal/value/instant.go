package value

import "time"

const (
	dateForm    = "must be a date of the calendar, such as 2026-02-28"
	instantForm = "must be a time with its zone and at most six decimals, such as 2026-02-28T09:30:00Z, or a plain date, in the years 0000 to 9999"
)

// parseDate reads YYYY-MM-DD, a day of the calendar in the years 0000 to 9999.
func parseDate(s string) (Value, error) {
	if _, ok := dayOf(s); !ok {
		return Value{}, refuse(dateForm)
	}
	return OfText(s), nil
}

func dayOf(s string) (time.Time, bool) {
	if len(s) != len(time.DateOnly) {
		return time.Time{}, false
	}
	// time.Parse takes a comma, a sign or a space nowhere in this layout.
	day, err := time.Parse(time.DateOnly, s)
	return day, err == nil
}

// parseInstant reads RFC 3339 with T, seconds and Z or ±hh:mm, or a plain date,
// which is midnight UTC. Decimals beyond the microsecond must be zeros: cutting
// others would store another instant than the one that was sent.
func parseInstant(s string) (Value, error) {
	if day, ok := dayOf(s); ok {
		return OfTime(day), nil
	}
	t, ok := instantOf(s)
	if !ok || t.Year() < 0 || t.Year() > 9999 {
		return Value{}, refuse(instantForm)
	}
	return OfTime(t), nil
}

func instantOf(s string) (time.Time, bool) {
	const seconds = len("2006-01-02T15:04:05")
	if len(s) <= seconds || s[len("2006-01-02")] != 'T' {
		return time.Time{}, false
	}
	zone := seconds
	if s[zone] == '.' {
		digits := countDigits(s[zone+1:])
		if digits == 0 || !zeros(s[zone+1:zone+1+digits], 6) {
			return time.Time{}, false
		}
		zone += 1 + digits
	}
	base, err := time.Parse("2006-01-02T15:04:05", s[:seconds])
	if err != nil {
		return time.Time{}, false
	}
	offset, ok := offsetOf(s[zone:])
	if !ok {
		return time.Time{}, false
	}
	return base.Add(fraction(s[seconds:zone]) - offset), true
}

// zeros reports whether every digit from position from on is a zero.
func zeros(digits string, from int) bool {
	for i := from; i < len(digits); i++ {
		if digits[i] != '0' {
			return false
		}
	}
	return true
}

// fraction reads "" or a dot and digits, to the microsecond.
func fraction(s string) time.Duration {
	unit := 100 * time.Millisecond
	var d time.Duration
	for i := 1; i < len(s) && unit >= time.Microsecond; i++ {
		d += time.Duration(s[i]-'0') * unit
		unit /= 10
	}
	return d
}

// offsetOf reads Z or ±hh:mm.
func offsetOf(s string) (time.Duration, bool) {
	if s == "Z" {
		return 0, true
	}
	if len(s) != len("+00:00") || (s[0] != '+' && s[0] != '-') || s[3] != ':' {
		return 0, false
	}
	if countDigits(s[1:3]) != 2 || countDigits(s[4:]) != 2 {
		return 0, false
	}
	hours := int(s[1]-'0')*10 + int(s[2]-'0')
	minutes := int(s[4]-'0')*10 + int(s[5]-'0')
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	d := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		d = -d
	}
	return d, true
}

// appendInstant writes RFC 3339 in UTC, to the microsecond, trailing zeros cut.
func appendInstant(dst []byte, v Value) []byte {
	return v.Time().AppendFormat(dst, time.RFC3339Nano)
}
