/** The heading of turnbell's part in a file of instructions. */
export const SECTION = '## Signals (turnbell)'
