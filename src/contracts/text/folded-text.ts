/**
 * Folding of text to what a model reads: invisible characters are removed, and look-alikes of ASCII (full-width and
 * mathematical letters, other brackets, dashes and spaces, letters of other alphabets) are replaced by ASCII.
 */

const LOOK_ALIKES: Readonly<Record<string, string>> = {
  '<': '\uff1c\ufe64\u2039\u3008\u2329\u27e8\u276e\u276c\u02c2\u1438',
  '>': '\uff1e\ufe65\u203a\u3009\u232a\u27e9\u276f\u276d\u02c3\u1433',
  '/': '\u2044\u2215\uff0f\u29f8\u2571',
  '-': '\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d',
  '|': '\uff5c\u2223\u01c0\u2502',
  ' ': '\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000',
  // Cyrillic and Greek
  ...{
    a: '\u0430\u03b1',
    e: '\u0435',
    o: '\u043e\u03bf',
    p: '\u0440\u03c1',
    c: '\u0441',
    y: '\u0443',
    x: '\u0445',
  },
  ...{
    s: '\u0455',
    i: '\u0456\u03b9',
    j: '\u0458',
    h: '\u04bb',
    d: '\u0501',
    k: '\u043a\u03ba',
    m: '\u043c',
    t: '\u0442\u03c4',
  },
  ...{
    A: '\u0410\u0391',
    B: '\u0412\u0392',
    C: '\u0421',
    E: '\u0415\u0395',
    H: '\u041d\u0397',
    I: '\u0406\u0399',
  },
  ...{
    K: '\u041a\u039a',
    M: '\u041c\u039c',
    N: '\u039d',
    O: '\u041e\u039f',
    P: '\u0420\u03a1',
    S: '\u0405',
    T: '\u0422\u03a4',
  },
  X: '\u0425\u03a7',
  Y: '\u03a5',
}
const SIGN_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(LOOK_ALIKES).flatMap(([sign, others]) =>
    Array.from(others).map((other) => [other, sign] as const),
  ),
)
const INVISIBLE = String.raw`\p{Cf}\p{Default_Ignorable_Code_Point}\u0300-\u036f\u20d0-\u20ff\x00-\x08\x0e-\x1f\x7f`
/** Blocks whose characters have a compatibility form in ASCII: full-width, mathematical, circled, squared. */
const COMPATIBLE = String.raw`\uff01-\uff5e\u{1d400}-\u{1d7ff}\u2460-\u24ff\u{1f100}-\u{1f1ff}`
/** Invisible characters that mirror ASCII. */
const TAG_CHARACTERS = 0xe0000

const DISGUISE = new RegExp(`[${INVISIBLE}${[...SIGN_OF.keys()].join('')}${COMPATIBLE}]`, 'u')
const IS_PLAIN = /^[\t-\r\x20-\x7e]*$/
const IS_INVISIBLE = new RegExp(`^[${INVISIBLE}]$`, 'u')
const IS_COMPATIBLE = new RegExp(`^[${COMPATIBLE}]$`, 'u')

/** Whether folding may change the text. */
export function isDisguised(text: string): boolean {
  return !IS_PLAIN.test(text) && DISGUISE.test(text)
}

/** `at[i]` is the position in `text` of the i-th code unit of `folded`. */
export function foldedText(text: string): { folded: string; at: number[] } {
  const known = new Map<string, string>()
  const parts: string[] = []
  const at: number[] = []
  let place = 0
  for (const character of text) {
    let shown = character >= ' ' && character < '\x7f' ? character : known.get(character)
    if (shown === undefined) known.set(character, (shown = foldedCharacter(character)))
    for (let unit = 0; unit < shown.length; unit += 1) at.push(place)
    if (shown !== '') parts.push(shown)
    place += character.length
  }
  return { folded: parts.join(''), at }
}

function foldedCharacter(character: string): string {
  const sign = SIGN_OF.get(character)
  if (sign !== undefined) return sign
  const mirrored = (character.codePointAt(0) ?? 0) - TAG_CHARACTERS
  if (mirrored >= 0x20 && mirrored < 0x7f) return String.fromCharCode(mirrored)
  if (IS_COMPATIBLE.test(character)) return character.normalize('NFKC')
  return IS_INVISIBLE.test(character) ? '' : character
}
