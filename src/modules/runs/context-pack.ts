/**
 * Packs what a delegate needs to know of a run into a token budget: prompt, assumptions, checkpoints, parent runs and the
 * latest events.
 *
 * The budget covers the whole response as JSON, at `characters_per_token`, and is never exceeded. Sections take turns in
 * adding their newest or nearest item; the pack contains the number of items left out.
 */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { ContextPack, Run, RunEventView } from '../../contracts/runs/runs.ts'
import { truncate } from '../../contracts/text/truncate.ts'

export interface PackSources {
  run: Run
  /** Nearest first. */
  parents: readonly (Run | { run_id: string; missing: true })[]
  /** Oldest first. */
  events: readonly RunEventView[]
}

type Section = 'assumptions' | 'checkpoints' | 'parents' | 'events'
const SECTIONS: readonly Section[] = ['assumptions', 'checkpoints', 'parents', 'events']

const PARENT_PROMPT_LENGTH = 300
/** Length of the texts that even the smallest pack contains. */
const SHORT_LENGTH = 64
/** Share of the budget for the prompt; it gets more if the other sections leave space. */
const PROMPT_SHARE = 0.5

export function packOf({ run, parents, events }: PackSources, max_tokens: number): ContextPack {
  const budget = max_tokens * LIMITS.characters_per_token
  const waiting: { [S in Section]: ContextPack[S] } = {
    assumptions: run.assumptions.flatMap(({ text, status }) => (status === 'open' ? [text] : [])).reverse(),
    checkpoints: [...run.checkpoints].reverse(),
    parents: parents.map(parentView),
    events: events.map(({ seq: _, ...event }) => event).reverse(),
  }
  let pack = emptyPack(run, waiting, max_tokens)
  const fits = (candidate: ContextPack, share = 1) => JSON.stringify(candidate).length <= budget * share

  pack = withPrompt(pack, run.prompt, (candidate) => fits(candidate, PROMPT_SHARE))
  const open = new Set(SECTIONS)
  while (open.size > 0) {
    for (const section of open) {
      const [next] = waiting[section].slice(pack[section].length)
      const longer = next === undefined ? null : withItem(pack, section, next)
      // A gap in a list would be misleading, so the section ends here.
      if (longer === null || !fits(longer)) open.delete(section)
      else pack = longer
    }
  }
  return pack.left_out.prompt_characters === 0 ? pack : withPrompt(pack, run.prompt, fits)
}

function emptyPack(
  run: Run,
  waiting: { [S in Section]: readonly unknown[] },
  max_tokens: number,
): ContextPack {
  const { run_id, agent_id, status, outcome } = run
  const count = (section: Section) => waiting[section].length
  return {
    run_id,
    agent_id: short(agent_id),
    status,
    prompt: '',
    ...(outcome === undefined
      ? {}
      : {
          outcome: {
            success: outcome.success,
            ...(outcome.summary === undefined ? {} : { summary: short(outcome.summary) }),
          },
        }),
    assumptions: [],
    checkpoints: [],
    parents: [],
    events: [],
    left_out: {
      prompt_characters: run.prompt.length,
      assumptions: count('assumptions'),
      // Checkpoints dropped by the run itself are still in the event stream.
      checkpoints: count('checkpoints') + run.checkpoints_dropped,
      parents: count('parents'),
      events: count('events'),
    },
    max_tokens,
  }
}

function withItem(pack: ContextPack, section: Section, item: unknown): ContextPack {
  return {
    ...pack,
    [section]: [...pack[section], item],
    left_out: { ...pack.left_out, [section]: pack.left_out[section] - 1 },
  }
}

/** Returns the pack with as much of the prompt as fits. */
function withPrompt(pack: ContextPack, prompt: string, fits: (pack: ContextPack) => boolean): ContextPack {
  const first = (length: number): ContextPack => {
    const text = prompt.slice(0, length).replace(/[\uD800-\uDBFF]$/, length < prompt.length ? '' : '$&')
    return {
      ...pack,
      prompt: text,
      left_out: { ...pack.left_out, prompt_characters: prompt.length - text.length },
    }
  }
  let [low, high] = [pack.prompt.length, prompt.length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (fits(first(middle))) low = middle
    else high = middle - 1
  }
  return low === pack.prompt.length ? pack : first(low)
}

function parentView(parent: PackSources['parents'][number]): ContextPack['parents'][number] {
  if ('missing' in parent) return parent
  const { run_id, agent_id, status, prompt, checkpoints } = parent
  const checkpoint = checkpoints.at(-1)?.summary
  return {
    run_id,
    agent_id,
    status,
    prompt: truncate(prompt, PARENT_PROMPT_LENGTH),
    ...(checkpoint === undefined ? {} : { checkpoint: truncate(checkpoint, PARENT_PROMPT_LENGTH) }),
  }
}

/** Truncates a text. Replaces control characters, each of which takes six characters in JSON. */
function short(text: string): string {
  return truncate(text.replace(/[\u0000-\u001f"\\]/g, ' '), SHORT_LENGTH)
}
