/**
 * A small pseudo-random generator of its own (sfc32 by Chris Doty-Humphrey, PractRand), so that a seed gives the same
 * data on every version of Node. Integer arithmetic only.
 */
export interface Random {
  /** The next 32 bits, as an integer from 0 to 2^32 - 1. */
  bits(): number;
  /** A number from 0 to below 1. */
  fraction(): number;
  /** An integer from 0 to `count` - 1; `count` from 1 to 2^32. */
  below(count: number): number;
  /** True `perMille` times in a thousand. */
  chance(perMille: number): boolean;
  /** One element of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
}

/**
 * @param seed any safe integer
 * @param stream which of the independent sequences of this seed, an unsigned 32-bit integer
 */
export function createRandom(seed: number, stream: number): Random {
  // Typed, because V8 boxes 32-bit integers that live in variables of a closure.
  const state = new Int32Array([
    mix32(lowWord(seed)),
    mix32(highWord(seed) + 0x9e3779b9),
    mix32(stream + 0x85ebca6b),
    1,
  ]);

  function bits(): number {
    const a = state[0] as number;
    const b = state[1] as number;
    const c = state[2] as number;
    const counter = state[3] as number;
    const result = (((a + b) | 0) + counter) | 0;
    state[0] = b ^ (b >>> 9);
    state[1] = (c + (c << 3)) | 0;
    state[2] = (((c << 21) | (c >>> 11)) + result) | 0;
    state[3] = (counter + 1) | 0;
    return result >>> 0;
  }

  // The first dozen outputs still show the seed.
  for (let i = 0; i < 12; i++) bits();

  function fraction(): number {
    return bits() / 0x1_0000_0000;
  }
  function below(count: number): number {
    return Math.floor(fraction() * count);
  }
  return {
    bits,
    fraction,
    below,
    chance: (perMille) => below(1000) < perMille,
    pick: (list) => {
      const element = list[below(list.length)];
      if (element === undefined) throw new RangeError('pick from an empty list');
      return element;
    },
  };
}

/** A bijection on 32-bit integers: the finaliser of MurmurHash3 by Austin Appleby. */
export function mix32(word: number): number {
  let x = word | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** The low 32 bits of a safe integer. */
export function lowWord(integer: number): number {
  return integer >>> 0;
}

/** The bits of a safe integer above the low 32. */
export function highWord(integer: number): number {
  return Math.floor(integer / 0x1_0000_0000) >>> 0;
}
