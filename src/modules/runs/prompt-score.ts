/**
 * How well a prompt tells an agent what to do, 0 to 100. A rule of thumb over words and form, for English
 * prompts: no model is asked, and the same prompt always has the same score.
 *
 * What it looks for, and how many points each is worth: a goal (20), by what to tell that it is reached (20),
 * what must not happen (15), where to look (15), what is known (10), what the answer should look like (10), a
 * length that says enough and can still be kept in mind (10). Vague words cost up to 15.
 */
import type { PromptScore } from '../../contracts/runs.ts'

interface Mark {
  name: string
  of: number
  /** Each that is found earns its share; `enough` of them earn all. */
  signs: readonly RegExp[]
  enough: number
  missing: string
}

const MARKS: readonly Mark[] = [
  {
    name: 'goal',
    of: 20,
    signs: [
      /(^|[.!?:\n]\s{0,20}|\b(please|to|and|should|must|you)\s+)(add|adapt|analy[sz]e|build|change|check|clean|compare|convert|correct|create|debug|delete|describe|design|document|explain|extend|extract|find|fix|generate|implement|improve|introduce|investigate|list|make|measure|merge|migrate|move|optimi[sz]e|port|prepare|prove|reduce|refactor|release|remove|rename|replace|report|reproduce|review|rewrite|run|simplify|split|summari[sz]e|support|test|translate|update|upgrade|validate|verify|write)\b/i,
      /\b(goal|aim|objective|purpose|task|so that|in order to)\b/i,
    ],
    enough: 1,
    missing: 'Begin with a verb: what is to be done.',
  },
  {
    name: 'done_criteria',
    of: 20,
    signs: [
      /\b(done|finished|complete|ready) (when|once|if)\b|\bdefinition of done\b/i,
      /\b(acceptance|criteri(on|a)|expected|expect(s)?)\b/i,
      /\b(tests?|checks?|build|suite|lint(er)?|types?) (must |should |all |still |is |are )*(pass(es)?|succeed(s)?|green)\b/i,
      /\b(verify|prove|confirm|make sure|ensure) that\b/i,
      /\b(must|should) (return|answer|print|show|contain|be able to|refuse|accept)\b/i,
    ],
    enough: 2,
    missing: 'Say by what one can tell that it is done: a test that passes, an output that is seen.',
  },
  {
    name: 'constraints',
    of: 15,
    signs: [
      /\b(do not|don['’]t|must not|never|without|no new|avoid|leave .{1,40} (alone|as it is|untouched))\b/i,
      /\b(only|at most|at least|no more than|within|under|up to|exactly|less than)\b/i,
      /\b(must|have to|has to|required|keep|stay|compatible|in the style of)\b/i,
    ],
    enough: 2,
    missing: 'Say what has to stay as it is, and which bounds hold.',
  },
  {
    name: 'places',
    of: 15,
    signs: [
      /\b[\w@.-]{1,80}\/[\w@./-]{0,200}\w/,
      /\b[\w-]{1,80}\.(ts|tsx|js|jsx|mjs|cjs|py|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|sql|md|json|ya?ml|toml|html|css|txt)\b/i,
      /`[^`\n]{1,200}`/,
      /https?:\/\/\S/i,
      /\b\w{1,80}\(\)/,
    ],
    enough: 2,
    missing: 'Name the files, functions or pages that it is about.',
  },
  {
    name: 'known',
    of: 10,
    signs: [
      /\b(because|since|currently|at the moment|so far|until now|already|the problem|the bug|background|context)\b/i,
      /\b(error|exception|stack ?trace|fails?|failed|crash(es)?|warning|log)\b/i,
      /```|\n[ \t]{4,40}\S/,
      /\b(steps to reproduce|for example|e\.g\.|such as|see)\b/i,
    ],
    enough: 2,
    missing: 'Say what is known already: why it is needed, what was seen, what was tried.',
  },
  {
    name: 'answer_form',
    of: 10,
    signs: [
      /\b(return|answer|reply|respond|report|output|print|write) (with|as|in|back|only|a|an|the|one|your)\b/i,
      /\b(as|in) (json|markdown|yaml|csv|a table|a list|bullet points|one (line|sentence|paragraph)|a (commit|pull request|patch|diff))\b/i,
      /\b(commit|pull request|patch|diff|summary|format)\b/i,
    ],
    enough: 1,
    missing: 'Say what the answer should look like: a patch, a list, a line.',
  },
]

const VAGUE =
  /\b(somehow|something|stuff|things|etc|asap|whatever|as needed|as appropriate|if possible|make it (better|nice(r)?|good|work)|clean it up|and so on|kind of|sort of)\b/gi
const VAGUE_COST = 5
const VAGUE_COST_MAX = 15

const LENGTH_POINTS = 10
/** Below the first nothing much is said; above the last nobody keeps it in mind. */
const LENGTHS = { none_to: 15, all_from: 120, all_to: 6_000, none_from: 14_000 }

export function scorePrompt(prompt: string): PromptScore {
  const reasons = [...MARKS.map((mark) => marked(mark, prompt)), lengthOf(prompt)]
  const vague = vagueOf(prompt)
  const all = vague === null ? reasons : [...reasons, vague]
  const sum = all.reduce((total, { points }) => total + points, 0)
  return { score: Math.min(100, Math.max(0, sum)), reasons: all }
}

type Reason = PromptScore['reasons'][number]

function marked({ name, of, signs, enough, missing }: Mark, prompt: string): Reason {
  const found = signs.flatMap((sign) => sign.exec(prompt)?.[0].trim() ?? [])
  const points = Math.round((of * Math.min(found.length, enough)) / enough)
  const quoted = found.slice(0, 2).map((text) => JSON.stringify(text.slice(0, 40)))
  if (points === of) return { name, points, of, detail: `Found ${quoted.join(' and ')}.` }
  return { name, points, of, detail: points === 0 ? missing : `Found ${quoted.join(' and ')}. ${missing}` }
}

function lengthOf(prompt: string): Reason {
  const length = prompt.trim().length
  const { none_to, all_from, all_to, none_from } = LENGTHS
  const rising = (length - none_to) / (all_from - none_to)
  const falling = (none_from - length) / (none_from - all_to)
  const points = Math.round(LENGTH_POINTS * Math.min(1, Math.max(0, Math.min(rising, falling))))
  const detail =
    points === LENGTH_POINTS
      ? `${length} characters.`
      : length < all_from
        ? `${length} characters: say more.`
        : `${length} characters: put what is only to be looked up into a file, and name it.`
  return { name: 'length', points, of: LENGTH_POINTS, detail }
}

function vagueOf(prompt: string): Reason | null {
  const found = [...new Set([...prompt.matchAll(VAGUE)].map(([text]) => text.toLowerCase()))]
  if (found.length === 0) return null
  const points = -Math.min(VAGUE_COST_MAX, VAGUE_COST * found.length)
  return { name: 'vague', points, of: 0, detail: `Say what is meant by ${found.slice(0, 3).join(', ')}.` }
}
