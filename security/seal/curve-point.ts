const P = 2n ** 255n - 19n;
/** -121665/121666, the constant of the curve -x² + y² = 1 + d·x²·y² (RFC 8032, 5.1). */
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const SIGN_BIT = 2n ** 255n;

/**
 * Whether 32 bytes are the canonical form of a point of edwards25519 that is not one of the eight of small order. Under
 * a key of small order one signature fits many messages, so who has it could deny what it signed.
 */
export function isStrongPoint(bytes: Uint8Array): boolean {
  const y = littleEndian(bytes) % SIGN_BIT;
  if (bytes.length !== 32 || y >= P) return false;
  // x² = (y² - 1) / (d·y² + 1); the divisor is never 0, for -1/d is no square.
  const y2 = (y * y) % P;
  const x2 = (modulo(y2 - 1n) * power(D * y2 + 1n, P - 2n)) % P;
  const isOnCurve = power(x2, (P - 1n) / 2n) <= 1n;
  // Order 1 and 2: x = 0; order 4: y = 0; order 8: doubled it has y = 0, so x² = -y².
  return isOnCurve && x2 !== 0n && y !== 0n && (x2 + y2) % P !== 0n;
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);
}

const modulo = (value: bigint): bigint => ((value % P) + P) % P;

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = modulo(base);
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}
