/** The text that tells an agent how to live with its signals, from the facades that there are. */
import { FACADES } from '../../facades/all.ts'
import { SECTION } from './section.ts'
import { projectInstructions } from '../../kernel/project-instructions.ts'

export const instructions = () => projectInstructions(FACADES)

/** As a section of a larger file. */
export const withTitle = (text: string) => `${SECTION}\n\n${text}`
