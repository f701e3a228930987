/**
 * Scores a prompt for an agent from 0 to 100 by rules about words and form. It is meant for English prompts, uses no model
 * and is deterministic.
 *
 * Points: goal (20), completion criteria (20), constraints (15), places to look at (15), known facts (10), form of the
 * answer (10), length (10). Vague words cost up to 15.
 */
import type { PromptScore } from '../../contracts/runs/runs.ts'

interface Mark {
  name: string
  of: number
  /** Each match earns a share of the points; `enough` matches earn all. */
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
    missing: 'Begin with a verb that names the task.',
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
    missing: 'State how to check completion: a test that passes, an expected output.',
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
    missing: 'State what must not change, and which limits apply.',
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
    missing: 'Name the files, functions or pages concerned.',
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
    missing: 'State what is known: why it is needed, what was observed, what was tried.',
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
    missing: 'State the form of the answer: a patch, a list, a line.',
  },
]

const VAGUE =
  /\b(somehow|something|stuff|things|etc|asap|whatever|as needed|as appropriate|if possible|make it (better|nice(r)?|good|work)|clean it up|and so on|kind of|sort of)\b/gi
const VAGUE_COST = 5
const VAGUE_COST_MAX = 15

const LENGTH_POINTS = 10
/** Characters. A shorter or longer prompt gets no points; between `all_from` and `all_to` it gets all. */
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
        ? `${length} characters: add detail.`
        : `${length} characters: move reference material to a file, and name the file.`
  return { name: 'length', points, of: LENGTH_POINTS, detail }
}

function vagueOf(prompt: string): Reason | null {
  const found = [...new Set([...prompt.matchAll(VAGUE)].map(([text]) => text.toLowerCase()))]
  if (found.length === 0) return null
  const points = -Math.min(VAGUE_COST_MAX, VAGUE_COST * found.length)
  return { name: 'vague', points, of: 0, detail: `Be specific instead of ${found.slice(0, 3).join(', ')}.` }
}
