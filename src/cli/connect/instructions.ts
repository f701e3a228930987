/** The instructions for an agent that receives signals, generated from the facades. */
import { FACADES } from '../../facades/all.ts'
import { SECTION } from './edit/marked-block.ts'
import { projectInstructions } from '../../kernel/projections/project-instructions.ts'

export const instructions = () => projectInstructions(FACADES)

/** Returns the text as a section of a larger file. */
export const withTitle = (text: string) => `${SECTION}\n\n${text}`
