/**
 * The suite as published in `turnbell/surface-suite`, with everything that the author of an adapter needs to simulate
 * the client.
 */
export { describeSurface } from './surface.suite.ts'
export type { PlaceMode, SurfaceTraits, SurfaceUnderTest } from './surface.suite.ts'
export { atRest, fakeClock } from '../support/fakes/fake-clock.ts'
export type { FakeClock } from '../support/fakes/fake-clock.ts'
