/** The package's version; the build writes it in, a run from source has none. */
declare global {
  var TURNBELL_VERSION: string | undefined
}

export const VERSION: string = globalThis.TURNBELL_VERSION ?? '0.0.0-source'
