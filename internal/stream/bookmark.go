package stream

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/rowcast/rowcast/internal/store"
)

// bookmarkMark begins a bookmark; no ULID does.
const bookmarkMark = "~"

var (
	bookmarkUse = []byte("rowcast bookmark 1") // binds a seal to its use
	errSeal     = errors.New("not a bookmark of this datastore")
)

// sealer turns positions into opaque text and back. The key is kept in the
// datastore, so that every instance can open what another sealed, and nobody
// learns from a heartbeat how much others write.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return sealer{aead}, err
}

func (s sealer) seal(p store.Position) string {
	nonce := make([]byte, s.aead.NonceSize(), 128)
	_, _ = rand.Read(nonce) // never fails
	plain := append(binary.BigEndian.AppendUint64(nil, uint64(p.Seq)), p.EventID...)
	return bookmarkMark + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, plain, bookmarkUse)) //nolint:gosec // G407 does not see that the nonce was drawn
}

func (s sealer) open(text string) (store.Position, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text[len(bookmarkMark):])
	if err != nil || len(sealed) < s.aead.NonceSize() {
		return store.Position{}, errSeal
	}
	n := s.aead.NonceSize()
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], bookmarkUse)
	if err != nil || len(plain) < 8 {
		return store.Position{}, errSeal
	}
	return store.Position{Seq: int64(binary.BigEndian.Uint64(plain)), EventID: string(plain[8:])}, nil
}
