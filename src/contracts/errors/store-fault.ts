/** A problem in the files of a store, with its fix. */
export interface StoreFault {
  /** `broken`: the hub does not start, or the data in the file is unavailable. `warning`: the store works, but a person should check it. */
  state: 'broken' | 'warning'
  detail: string
  /** The fix: one sentence, with the command. */
  hint: string
}
