/**
 * Matches paths and names of tools with the globs of `activity.deny`. `*` and `?` match within a segment, `**` across
 * segments, `{a,b}` either, `[a-z]` a character. A glob without a slash matches a segment at any depth, like in
 * `.gitignore`; a glob that matches a folder matches all that is in it.
 */
import { memoizeByRef } from '../lib/memoize.ts'

/**
 * A character, a set of characters, a repetition of any characters or of all but a slash, or a choice: the next two tokens,
 * which match folders, or what follows them.
 */
type Token =
  | { literal: string }
  | { set: (character: string) => boolean }
  | { any: boolean }
  | { folders: true }

export interface DenyGlobs {
  /** Without globs, everything is allowed. */
  readonly isEmpty: boolean
  deniesPath(path: string): boolean
  deniesTool(name: string): boolean
}

const PATH_LENGTH_MAX = 4_096
const ALTERNATIVES_MAX = 64

export const denyGlobs: (globs: readonly string[]) => DenyGlobs = memoizeByRef((globs) => {
  const patterns = globs
    .flatMap((glob) => alternatives(glob.replaceAll('\\', '/')))
    .map((glob) => {
      const trimmed = glob.replace(/\/(?:\*\*)?$/, '')
      return { tokens: tokensOf(trimmed), inSegment: !trimmed.includes('/') }
    })
  return {
    isEmpty: patterns.length === 0,
    deniesTool: (name) => patterns.some(({ tokens, inSegment }) => inSegment && matches(tokens, name)),
    deniesPath(path) {
      const whole = path.slice(0, PATH_LENGTH_MAX).replaceAll('\\', '/')
      const segments = whole.split('/').filter((segment) => segment !== '' && segment !== '.')
      const normal = (whole.startsWith('/') ? '/' : '') + segments.join('/')
      return patterns.some(({ tokens, inSegment }) =>
        inSegment ? segments.some((segment) => matches(tokens, segment)) : matches(tokens, normal, true),
      )
    },
  }
})

/** Expands `{a,b}`. */
function alternatives(glob: string): string[] {
  let open = [glob]
  const done: string[] = []
  while (open.length > 0 && done.length + open.length <= ALTERNATIVES_MAX) {
    open = open.flatMap((text) => {
      const group = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(text)
      if (group === null) {
        done.push(text)
        return []
      }
      const [, before = '', choices = '', after = ''] = group
      return choices.split(',').map((choice) => before + choice + after)
    })
  }
  return [...done, ...open]
}

function tokensOf(glob: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < glob.length; at++) {
    const character = glob.charAt(at)
    if (character === '*') {
      const across = glob.charAt(at + 1) === '*'
      if (across && glob.charAt(at + 2) === '/' && (at === 0 || glob.charAt(at - 1) === '/')) {
        tokens.push({ folders: true }, { any: true }, { literal: '/' })
        at += 2
      } else {
        tokens.push({ any: across })
        if (across) at += 1
      }
    } else if (character === '?') tokens.push({ set: (one) => one !== '/' })
    else if (character === '[') {
      const set = /^\[([!^]?)(\]?[^\]/]*)\]/.exec(glob.slice(at))
      if (set === null) tokens.push({ literal: character })
      else {
        tokens.push({ set: setOf(set[2] ?? '', set[1] !== '') })
        at += set[0].length - 1
      }
    } else tokens.push({ literal: character })
  }
  return tokens
}

function setOf(text: string, negated: boolean): (character: string) => boolean {
  const ranges: [string, string][] = []
  for (let at = 0; at < text.length; at++) {
    const from = text.charAt(at)
    const isRange = text.charAt(at + 1) === '-' && at + 2 < text.length
    ranges.push([from, isRange ? text.charAt(at + 2) : from])
    if (isRange) at += 2
  }
  return (one) => one !== '/' && ranges.some(([from, to]) => from <= one && one <= to) !== negated
}

/**
 * Follows all ways at once, so the time is bounded by the product of both lengths. With `folders`, a match of a folder that
 * contains the path is enough.
 */
function matches(tokens: readonly Token[], text: string, folders = false): boolean {
  let states = withSkips(tokens, new Set([0]))
  for (const character of text) {
    if (folders && character === '/' && states.has(tokens.length)) return true
    const next = new Set<number>()
    for (const state of states) {
      const token = tokens[state]
      if (token === undefined || 'folders' in token) continue
      if ('any' in token) {
        if (token.any || character !== '/') next.add(state)
      } else if ('set' in token ? token.set(character) : token.literal === character) next.add(state + 1)
    }
    states = withSkips(tokens, next)
    if (states.size === 0) return false
  }
  return states.has(tokens.length)
}

/** A repetition may be empty. Adds to the set while it is read, which visits the added states, too. */
function withSkips(tokens: readonly Token[], states: Set<number>): Set<number> {
  for (const state of states) {
    const token = tokens[state]
    if (token === undefined) continue
    if ('any' in token || 'folders' in token) states.add(state + 1)
    if ('folders' in token) states.add(state + 3)
  }
  return states
}
