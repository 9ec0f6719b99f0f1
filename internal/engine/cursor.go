package engine

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/value"
)

// minSecret is how long the secret that seals cursors must be, in bytes.
const minSecret = 16

// sealer makes and opens cursors. A cursor holds cells of the last row of a
// page; sealed, nobody can read them out of a link, or move the cursor to a
// place of their own. Safe for concurrent use.
type sealer struct{ aead cipher.AEAD }

func newSealer(secret []byte) (*sealer, error) {
	if len(secret) < minSecret {
		return nil, errors.New("engine: Config.Secret must have at least 16 bytes")
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "rowcast list cursor 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

func (s *sealer) seal(binding string, cells []value.Value) string {
	sealed := s.aead.Seal(nil, nil, appendCells(nil, cells), []byte(binding)) //nolint:gosec // G407 sees a fixed nonce: this AEAD draws its own
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// open returns the n cells of a cursor that was sealed for the same binding.
// Fault invalid_cursor, which does not say what is wrong with it.
func (s *sealer) open(binding, cursor string, n int) ([]value.Value, error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil {
		var plain []byte
		if plain, err = s.aead.Open(nil, nil, sealed, []byte(binding)); err == nil {
			if cells, ok := decodeCells(plain); ok && len(cells) == n {
				return cells, nil
			}
		}
	}
	return nil, fault.New(fault.InvalidCursor, "the cursor is not one of this list: send it with the filter and sort it came with, or start again without it").Because(err)
}

// appendCells writes each cell as its class and its value.
func appendCells(dst []byte, cells []value.Value) []byte {
	for _, v := range cells {
		dst = append(dst, byte(v.Class()))
		switch v.Class() {
		case value.Int:
			dst = binary.BigEndian.AppendUint64(dst, uint64(v.Int()))
		case value.Float:
			dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Float()))
		case value.Text, value.Blob:
			dst = binary.AppendUvarint(dst, uint64(len(v.Text())))
			dst = append(dst, v.Text()...)
		default: // NULL is its class alone
		}
	}
	return dst
}

func decodeCells(src []byte) (cells []value.Value, ok bool) {
	for len(src) > 0 {
		var v value.Value
		if v, src, ok = decodeCell(value.Class(src[0]), src[1:]); !ok {
			return nil, false
		}
		cells = append(cells, v)
	}
	return cells, true
}

func decodeCell(c value.Class, src []byte) (v value.Value, rest []byte, ok bool) {
	switch c {
	case value.Null:
		return v, src, true
	case value.Int, value.Float:
		if len(src) < 8 {
			return v, nil, false
		}
		n := binary.BigEndian.Uint64(src)
		if c == value.Int {
			return value.OfInt(int64(n)), src[8:], true
		}
		return value.OfFloat(math.Float64frombits(n)), src[8:], true
	case value.Text, value.Blob:
		n, width := binary.Uvarint(src)
		if width <= 0 || n > uint64(len(src)-width) {
			return v, nil, false
		}
		text, rest := src[width:width+int(n)], src[width+int(n):]
		if c == value.Blob {
			return value.OfBlob(text), rest, true
		}
		return value.OfText(string(text)), rest, true
	default:
		return v, nil, false
	}
}
