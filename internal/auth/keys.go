package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/MicahParks/jwkset"
)

var (
	hmacMethods       = []string{"HS256", "HS384", "HS512"}
	rsaMethods        = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	asymmetricMethods = append(append([]string{}, rsaMethods...), "ES256", "ES384", "ES512", "EdDSA")
)

// minRSA is the least size of an RSA key in bits (RFC 7518, 3.3).
const minRSA = 2048

// methodsOf returns the algorithms that go with a public key; none for one we do not take.
func methodsOf(key any) []string {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() >= minRSA {
			return rsaMethods
		}
	case *ecdsa.PublicKey:
		// RFC 7518, 3.4 ties each algorithm to one curve.
		switch k.Curve.Params().BitSize {
		case 256:
			return []string{"ES256"}
		case 384:
			return []string{"ES384"}
		case 521:
			return []string{"ES512"}
		}
	case ed25519.PublicKey:
		return []string{"EdDSA"}
	}
	return nil
}

// ParsePublicKey reads a public key: PEM (PKIX, PKCS #1 or a certificate) or a
// JSON Web Key. A private key is refused, because nobody but the issuer of
// tokens should hold it.
func ParsePublicKey(data []byte) (crypto.PublicKey, error) {
	var key any
	var err error
	if block, _ := pem.Decode(data); block != nil {
		key, err = parsePEM(block)
	} else {
		key, err = parseJWK(data)
	}
	if err != nil {
		return nil, err
	}
	if methodsOf(key) == nil {
		return nil, fmt.Errorf("no key that verifies tokens: use RSA of %d bits or more, ECDSA on P-256, P-384 or P-521, or Ed25519", minRSA)
	}
	return key, nil
}

func parsePEM(block *pem.Block) (any, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return cert.PublicKey, nil
	}
	return nil, fmt.Errorf("PEM block %q is no public key; make one with: openssl pkey -in private.pem -pubout", block.Type)
}

func parseJWK(data []byte) (any, error) {
	if !json.Valid(data) {
		return nil, errors.New("neither PEM nor a JSON Web Key")
	}
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(data, &m); err != nil || m.D != "" || m.K != "" {
		return nil, errors.New("not a public JSON Web Key")
	}
	jwk, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return nil, errors.New("not a public JSON Web Key")
	}
	return jwk.Key(), nil
}
