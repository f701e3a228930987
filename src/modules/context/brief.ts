/**
 * A text that tells an agent where things stand: sections of lines, as many as there is room for.
 *
 * The headings stay, whatever has to go: who reads that there were warnings can ask for them.
 */
import { tokensOf } from './budget.ts'
import type { Brief } from '../../contracts/context.ts'
import { LIMITS } from '../../contracts/limits.ts'

export interface BriefSection {
  title: string
  /** Most important first. */
  lines: readonly string[]
}

const NOTICE = '(Cut to fit; ask for the rest.)'

/**
 * Sections without lines are left out. What comes first has the room first; a line that has none makes way for a
 * shorter one behind it. Where not even the headings fit, they are cut.
 */
export function renderBrief(sections: readonly BriefSection[], max_tokens: number): Brief {
  const said = sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ title, lines }) => ({ title, lines: lines.map(asLine) }))
  const budget = max_tokens * LIMITS.characters_per_token
  const whole = textOf(said)
  const shown = whole.length <= budget ? said : withinRoom(said, budget)
  const truncated = shown !== said
  const brief = truncated ? `${textOf(shown)}\n\n${NOTICE}`.slice(0, budget) : whole
  return {
    ...{ brief, token_estimate: tokensOf(brief), truncated },
    sections: said.map(({ title, lines }, index) => ({
      ...{ title, lines: lines.length },
      shown: shown[index]?.lines.length ?? 0,
    })),
  }
}

function withinRoom(said: readonly BriefSection[], budget: number): BriefSection[] {
  const headings = textOf(said.map(({ title }) => ({ title, lines: [] })))
  let room = budget - `${headings}\n\n${NOTICE}`.length
  return said.map(({ title, lines }) => ({
    title,
    lines: lines.filter((line) => {
      const fits = line.length < room
      if (fits) room -= line.length + 1
      return fits
    }),
  }))
}

function textOf(sections: readonly BriefSection[]): string {
  return sections.map(({ title, lines }) => [`## ${title}`, ...lines].join('\n')).join('\n\n')
}

function asLine(text: string): string {
  return `- ${text.replace(/\s+/g, ' ').trim()}`
}
