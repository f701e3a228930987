/**
 * Renders a brief: sections with as many lines as fit.
 *
 * Headings stay when lines are cut, so that an agent can ask for the rest.
 */
import { tokensOf } from './budget.ts'
import type { Brief } from '../../contracts/memory/context.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface BriefSection {
  title: string
  /** Most important first. */
  lines: readonly string[]
}

const NOTICE = '(Cut to fit; ask for the rest.)'

/**
 * Leaves out sections without lines. Earlier lines are placed first; a line that does not fit is skipped, and a later,
 * shorter one may still fit. If not even the headings fit, they are cut.
 */
export function renderBrief(sections: readonly BriefSection[], max_tokens: number): Brief {
  const filled = sections
    .filter(({ lines }) => lines.length > 0)
    .map(({ title, lines }) => ({ title, lines: lines.map(asLine) }))
  const budget = max_tokens * LIMITS.characters_per_token
  const whole = textOf(filled)
  const shown = whole.length <= budget ? filled : withinBudget(filled, budget)
  const truncated = shown !== filled
  const brief = truncated ? `${textOf(shown)}\n\n${NOTICE}`.slice(0, budget) : whole
  return {
    brief,
    token_estimate: tokensOf(brief),
    truncated,
    sections: filled.map(({ title, lines }, index) => ({
      title,
      lines: lines.length,
      shown: shown[index]?.lines.length ?? 0,
    })),
  }
}

function withinBudget(filled: readonly BriefSection[], budget: number): BriefSection[] {
  const headings = textOf(filled.map(({ title }) => ({ title, lines: [] })))
  let room = budget - `${headings}\n\n${NOTICE}`.length
  return filled.map(({ title, lines }) => ({
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
