/**
 * Draws the numbers below `count` one by one in an order of the seed's own, each once, then -1: a keyed bijection on the
 * next power of two that steps over what is not below `count`. Nothing is stored, so the first few of many cost little.
 */
export function shuffled(seed: string, count: number): () => number {
  const bits = Math.max(2, 32 - Math.clz32(Math.max(1, count - 1)));
  const mask = 2 ** bits - 1;
  const half = bits >> 1;
  const first = hashOf(seed);
  // A hash of its own: seeds that collide in one of the two are still shuffled differently.
  const second = hashOf(`shuffle/${seed}`);
  const third = mix(first ^ Math.imul(second, 0x9e3779b1));
  let next = 0;
  return () => {
    while (next <= mask) {
      // Each step can be undone (adding, odd factors, shifts onto itself), so no number comes twice.
      let at = (next + first) & mask;
      next += 1;
      at = Math.imul(at ^ (at >>> half), second | 1) & mask;
      at = (Math.imul(at ^ (at >>> half), third | 1) + second) & mask;
      at = Math.imul(at ^ (at >>> half), 0x85ebca6b) & mask;
      at ^= at >>> half;
      if (at < count) return at;
    }
    return -1;
  };
}

/** In [0, 1), the same for a text everywhere. */
export const fractionOf = (text: string): number => hashOf(text) / 2 ** 32;

/** FNV-1a over the UTF-16 code units with the finaliser of MurmurHash3. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return mix(hash);
}

function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
