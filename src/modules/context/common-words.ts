/**
 * The 5,000 most frequent English words that are one token each, with the space in front of them, in the encodings
 * o200k_base and cl100k_base. Taken from the vocabulary of cl100k_base, which is ordered by frequency.
 */
const WORDS = `
ab abandon ability able abort about above abs absolute absolutely absor abstract abuse ac acad academic acc
acceler accept accepted access accessible accident accom accommod accompl accord according account accounts
accum accur accuracy accurate accused achie achieve achieved acid ack acknow acknowled across act acting action
actions activ activation active activities activity actor acts actual actually ad adapt adapter add added adding
addition additional addr address addresses adds ade adj adjust adm admin administr administration admit admitted
adopt ads adult adults adv advance advanced advant advantage advent advert advertising advice advis advoc af aff
affect affected affili afford affordable afraid after afternoon ag again against age agencies agency agent
agents ages aggress ago agre agree agreed agreement agricult ahead ai aid aim air aircraft airport ak al alarm
album alcohol alert alg algorithm alias align alignment alive all alle alleg alleged alloc allow allowed
allowing allows almost alone along alongside alpha already als also alt alter altern alternative although always
am amazing amb among amount amounts an anal analy analysis anchor ancient and android androidx ang angle anim
animal animals animated animation ann announced announcement annual another ans answer answers ant anti anticip
any anymore anyone anything anyway anywhere ao ap apart apartment api app apparent apparently appe appeal appear
appearance appeared appears append appl applic applicable application applications applied applies apply appoint
appreciate appro approach appropri appropriate approval approved approx approximately apps aqu ar arbit arc arch
architect are area areas aren arg argc args argument arguments argv aria arm armed arms army around arr arrang
array arrest arrested arrive arrived art article articles artist artists as asc aside ask asked asking asks
aspect aspects ass assault assembly assert assess assessment asset assets assign assigned assignment assist
assistance associ associated association assum assume ast async at ath atmos atmosphere att attach attached
attack attacks attempt attempted attempts attend attention attorney attr attract attrib attribute attributes
attrs au auch aud audience audio auf aus aut auth authentic authentication author authorities authority authors
auto autom automatic automatically aux av available avec aver average avoid aw await award aware awareness away
awesome ax axios axis az ba bab baby back background backup bacter bad bag bal balance ball ban band bank banks
bar bare bars bas base based basic basically basis basket bat batch bath bathroom batt batter battery battle bb
be beach bear beat beaut beautiful beauty became because become becomes becoming bed bedroom been beer before
beg began begin beginning begins beh behalf behavior behaviour behind bei being bel belie belief believe
believed believes belong belongs below ben bench benef benefit benefits ber bes best bet beta better between bey
beyond bg bi bias bid bien big bigger biggest bike bill billion bin binary bind binding bio bir bird birth
birthday bis bit bits bl black blank ble bless blo block blocks blog blood blow blue bo board boat bodies body
bold bomb bon bond bone bonus book books bool boolean boost boot border born borrow boss bot both bott bottle
bottom bought bound bounds bow box boxes boy boys br brain branch brand brands bre bread break breakfast
breaking breast breath brew bridge brief bright bring bringing brings bro broad broadcast broke broken brother
brought brown browser brush bs btn bu bucket budget buf buff buffer bug build builder building buildings built
bul bull bullet bunch bund bundle bur burn bus business businesses busy but butter button buttons buy buying by
byte bytes ca cabin cable cache cal calc calcul calculate calculated calendar call callback called calling calls
cam came camera camp campaign campus can cancel cancer candid candidate candidates cann cannot cant canvas cap
capabilities capable capacity capital capt caption capture captured car carbon card cards care career careful
carefully carried carry carrying cars cart cas case cases cash casino cast casual cat catalog catch categories
category caught cause caused causes causing cb cc cd ce cele celebr cell cells cent center central centre
century cer cert certain certainly certificate cfg ch cha chain chair chall challeng challenge challenges
challenging chance chances chang change changed changes changing channel channels chapter char character
characteristics characters charg charge charged charges charset chart chat che cheap check checked checking
checks cheese chem chemical chest chicken chief child children chip cho choice choices choose chose chosen chunk
church ci cig cin circ circle circuit circum circumstances cit cities citiz citizens city civil cl claim claimed
claims class classes classic cle clean cleaning clear clearly click client clients clim climate clin clinical
clip clo clock clone clos close closed closely closer closing clothes clothing cloud cls club cluster cm cmd cn
cnt co coach coal coast cock code codes coding coff coffee coin col cold coll collabor colle collect collected
collection collections college colon color colors colour cols colspan column columns com comb combat combination
combine combined come comes comfort comfortable coming comm command commands comment comments commercial
commission commit commitment committed committee common commonly communic communication communications
communities community como comp compact compan companies company compar compare compared comparison compat
compens compet competition competitive compl complaint comple complet complete completed completely completion
complex compliance complicated component components compr compreh comprehensive comput compute computer con conc
concent concentr concept concern concerned concerns conclusion concrete cond condition conditions conduct
conducted conf conference confidence confident config configuration configure confirm confirmed conflic conflict
confront conj conn connect connected connection connections cons consc conscious consent consequ consequences
conserv conservative consider considered considering consist consistent consists console const constant
constantly constit constitution constraints construct construction constructor consult consum consumer consumers
consumption cont contact contain contained container containing contains content contents contest context contin
continu continue continued continues continuing contr contract contracts contrast contrib contribute control
controlled controller controls controvers conv conven convenient convent convers conversation conversion convert
converted cook cookie cookies cooking cool coord coordinate coordinates cop copies copy copyright cor core corn
corner corpor corporate corre correct correctly correspond corresponding cos cost costs cou could couldn coun
council counsel count counter countries country counts county coup couple cour course courses court cout cover
coverage covered covers cp cpu cr crack craft crash crazy cre cream creat create created creates creating
creation creative creature cred credentials credit cref crew crime crimes criminal crisis crit criteria critic
critical cro cross crow crowd cruc crucial crush crusher crushing cry crypt cs css csv ctx cu cul cult cultural
culture cum cup cur curl curr currency current currently cursor curve cust custom customer customers cut cuts
cutting cv cy cycle da daily dam damage dan dance danger dangerous dans dar dark das dass dat data database
datas dataset date dates datetime dating daughter day days db de dead deal dealing deals death deaths deb debate
debt debug debut dec decade decades decent decide decided decimal decision decisions deck decl declar
declarations declare declared decode decor decre ded dedicated deep deeply def default defaults defe defend
defense defensive define defined definitely definition definitions deg degree degrees del delay delegate delete
deleted deliver delivered delivery della delta dem demand demo democr demon demonstr den denied density dep
depart department depend depending depends deploy deposit depth der derived des desc describe described
describes description descriptor design designed designer designs desire desired desktop despite dest
destination destroy destroyed det detail detailed details detect detected deter determin determine determined
dev develop developed developer developers developing development device devices df di diagn diagnostic diagram
dialog diam dict dictionary did didn die died dies diet dif diff differ difference differences different
difficult difficulty dig digit digital dim dimension dimensions din dinner dipl dir dire direct directed
direction directly director directory dis disable disabled disappoint disc discipl discount discover discovered
discuss discussed discussion dise disease dish disk dismiss disp dispatch display displayed diss dist distance
distinct distr distrib distribute distributed distribution district div diverse division django do doc doctor
doctors document documentation documents does doesn dog dogs doing doll dollars dom domain domestic domin don
done dont door doors dos dot doub double doubt down download dp dr draft drag dram draw drawing drawn dream
dress drink drinking drive driven driver drivers driving dro drop dropped drug drugs dry ds dst dt dtype du due
dummy dump dur duration during dust dut duty dw dx dy dynamic each ear earlier early earn earned earth eas ease
easier easily east easy eat eating ec echo econ econom economic economy ed edge edges edit editing edition
editor educ education educational een eff effect effective effectively effects efficiency efficient effort
efforts eg eight ein eine einem einen einer either el ele elect elected election elections electric electron
electronic elem element elements elev elif elig eligible elim else elseif em email emails emb embed embr emerg
emergency emit emot emotional emp emph employ employee employees employment empty en enable enabled enc encode
encoding encounter encour encourage end ended endif ending endl endpoint ends enemies enemy energ energy
enforcement eng engage engaged engine engineering enh enjoy enjoyed enorm enough ens ensure ent enter entered
entering entertainment entire entirely entities entity entr entre entries entry enum enumer enumerate env
environment environmental ep episode epoch eq equ equal equals equipment equivalent er era erot err error errors
es esc escape escort esp especially ess essay essential essentially est esta establish established estate este
estim estimate estimated et etc eth eu ev eval evaluate evaluation even evening event events eventually ever
every everybody everyone everything everywhere evid evidence evil evolution evt ex exact exactly exam example
examples exc exceed excell excellent except exception excess exchange excited exciting exclusive exec execute
executed execution executive exem exerc exercise exhaust exhib exist existence existing exists exit exp expand
expanded expansion expect expectations expected expensive exper experi experience experienced experiences
experiment expert experts expl explain explained explains explan explanation explicit explo explode explore
explos export exports exposed exposure expr express expressed expression ext extend extended extends extension
extensive extent extern external extr extra extract extrem extreme extremely ey eye eyes fa fab fabric fac face
faced faces facilit facilities facility facing fact factor factors factory facts fade fail failed fails failure
fair fairly faith fake fall falling falls false fam familiar families family famous fan fans fant fantastic far
farm fasc fashion fast faster fat father fault fav favor favorite favour fd fe fear feat feature featured
features featuring federal fee feed feedback feel feeling feelings feels fees feet fell fellow felt fem female
femin fet fetch few fewer fi fib fiction field fields fif fig fight fighting figure figures fil file filed
filename files fill filled film films filter filters fin final finally finance financial find finding findings
finds fine finger finish finished fire fired firm first fish fit fitness five fix fixed fixture fl flag flags
flash flat flavor fle flex flight flo float floor flow fluid fly flying fmt fn fo foc focus focused fol fold
folder folks follow followed following follows font foo food foods foot football for force forced forces fore
foreach foreign forest forever forg forget form formal format formed former forms formula fort forth forum
forward found foundation four fourth fp fprintf fr fra frag fragment frame frames framework franch fraud fre
free freedom frequ frequency frequently fresh fri friend friendly friends fro from front fruit frustr fs ft fuck
fucking fuel ful full fully fun func function functional functionality functions fund fundament fundamental
funding funds funny furn furniture further future ga gain gal gam game games gaming gang gap gar garden gas
gather gave gay ge gear gen gender gene gener general generally generate generated generation generator generic
genre gent genu geometry ger ges gest get gets getting gi giant gift girl girls git give given gives giving gl
glad glass glm glo glob global go goal goals god goes going gold gone gonna good goods google got goto gotten
gover govern governing government governments gr grab grad grade gran grand grant granted graph graphics grass
grat gratis gratuit gre great greater greatest green grew grid grinding gro ground group groups grow growing
grown growth gu guar guarante guarantee guard guess guest guests guid guide guidelines guilty guitar gun guns
guy guys ha hab habit hack had hair hal half hall ham hand handle handler handles handling hands hang happ
happen happened happening happens happy har hard harder hardware harm has hash hasn hat hate have haven having
he head header headers heading heads health healthy heap hear heard hearing heart heat heav heavily heavy height
hel held hell help helped helper helpful helping helps hem hence her here hero hers herself het hex hi hidden
hide hier high higher highest highlight highly him himself hint his hist histor historical history hit hits ho
hold holder holding holds hole holiday hom home homes hon honest honor hook hop hope hopes hoping hor horizontal
horse hospital host hot hotel hour hours hous house household houses housing how however href html http https
huge hum human humans hun hundred hundreds hur hurt hus husband hy hydro hyp hyper ice ich icon id ide idea
ideal ideas ident identified identifier identify identity ids idx if ign ignore ignored ih ii ik il ill illegal
illness illustr im imag image images imagine img imm immediate immediately immigr immigration imp impact imper
impl implement implementation implemented implements implied import importance important imports impossible
impress impressive impro improve improved improvement in inc inch inches incident includ include included
includes including income incontri incor incorpor incorrect incre increase increased increases increasing
increasingly incred incredible incredibly increment ind inde indeed indent independ independent index indic
indicate indicated indicates indices indiv individual individuals indu industrial industry inf infl influ
influence info inform information informed infrastructure ing ingredients inher ini init initi initial
initialization initialize initialized initially inj inject injured injuries injury inline inn inner innov input
inputs ins insert inside inspir inspired inst install installation installed instance instanceof instances
instant instead instit institution institutions instr instruction instructions instrument insurance int integ
integer integr integrity intel intellect intelligence intended intent intention inter interact interaction
interest interested interesting interests interface interior intern internal international internet interpret
interrupt interval interview into intr introdu introduced introduction inv invalid invent inventory invest
investig investigation investment investors invol involved involving io ip ir iron is isinstance island isn isol
iss isset issue issued issues ist it item items iter iterator its itself iv ja jav java javafx javax jaw je jest
jet jew jo job jobs join joined joint jour journal journey joy js json ju jud judge jump jur just justice
justify ka kan kann ke keep keeping keeps kept kernel key keyboard keys keyword kick kid kids kil kill killed
killing kind kinds king kit kitchen km kn kne knew knock know knowing knowledge known knows ko kom kon kv kwargs
la lab label labels labor lack lady laid lambda land lands lang language languages larg large largely larger
largest las last lat late later latest latter laugh launch launched law laws lawyer lay layer layers layout lazy
lbl le lead leader leaders leadership leading leads leaf league lean learn learned learning least leave leaves
leaving lect led left leg legal legend legis legisl legislation legit legs len length les less let lets letter
letters level levels li lib library lic license licensed lie lies lif life lift light lights lik like liked
likely likes lim limit limitations limited limits lin line linear lines link linked links liqu liquid list lista
listed listen listener listening listing lists lit liter literally literature little liv live lived lives living
ll lo load loaded loader loading loan loans loc local located location locations lock locked log logged logger
logging logic login logo lombok long longer look looked looking looks loop los lose losing loss lost lot lots
loud love loved lovely loves low lower lowest luck lunch lux ly ma mac mach machine machines mad made mag
magazine magic magn mai mail main mainly maint maintain maintenance mais major majority make makes making mal
male malloc man manage managed management manager mand manifest manip manner manual manufact manufacturer
manufacturers manufacturing many map mapping maps mar march margin mari marijuana mark marked marker market
marketing markets marks marriage married mas mask mass massage massive master mat match matches matching
material materials math matplotlib matrix matter matters mature max maximum may maybe mayor mb md me meal mean
meaning means meant meas measure measured measures meat mechan mechanism med media medic medical medicine medium
meet meeting meetings mel mem member members membership memor memory men mens ment mental mention mentioned menu
mer merc mere merely merge mes mesh mess message messages met meta metadata metal method methods metrics mg mi
micro mid middle might migr migration migrations mil mile miles milit military milk mill million millions min
mind mine mini minimal minimum mining minister minor minute minutes mir mis miss missed missing mission mist
mistake mit mix mixed ml mm mo mob mobile mock mod modal mode model models moder modern modification modified
modify module modules mom moment moments mon money mongoose monitor monitoring month monthly months mor moral
more morning mort most mostly mot mother motion motiv motor mount mountain mouse mouth mov move moved movement
moves movie movies moving mp mr ms msg mt mu much mul mult multi multip multiple mur murder mus muscle music
must mut mx my mys myself mysql mysqli myst na nach nam name named names namespace narr narrow nas nation
national nations native natur natural nature nav navbar navigation nb nd ne near nearby nearly necess
necessarily necessary neck need needed needs neg negative neighbor neighborhood neither net network networks
never new newly news newsp newspaper next ng ni nic nice nicht nick nie night nil nine nn no nob nod node nodes
noise nom nombre nome non none nor norm normal normally north nos not note noted notes nothing notice noticed
notification notify nous nov novel now np ns nu nuclear nue null nullable nullptr num number numbers numer
numerous numpy nums nur nut ob obj object objective objects oblig obs observ observed obt obtain obtained
obvious obviously occ occas occasion occup occur occurred occurs och od odd oder of off offense offensive offer
offered offering offers offic office officer officers official officials offset often og oh oil ok okay ol old
older om on once onclick one ones ongoing online only ont onto op open opened opening opens oper operate
operating operation operations operator opin opinion opp oppon opponent opportunities opportunity oppos opposed
opposite opposition opt optim option optional options opts or ord order ordered orders ore org organ organic
organization organizations organized orient orientation orig origin original originally orphan os ot other
others otherwise ou our ours ourselves out outcome outdoor outer output outputs outside over overall overflow
override overs overwhel ow own owned owner owners ownership pa pack package packages packet pad padding pag page
pages paid pain paint pair pairs pal pan pand panel paper papers par para paragraph parallel param parameter
parameters params parent parents park parking pars parse parsed parser part partial partic particip participants
participate particular particularly parties partition partner partners partnership parts party pas pass passed
passes passing passion password past pat patch path paths patient patients pattern patterns pay paying payload
payment payments pb pc pd pdf pe peace peak ped peer pel pen penalty pending people per percent percentage
perfect perfectly perform performance performed performing perhaps period perm perman permanent permission
permissions permit permitted pers person personal personality personally personnel persons perspective pet pg ph
pharm phase phen phenomen phil philosoph phone phot photo photograph photos phrase phys physical pi pic pick
picked picture pictures pid pie piece pieces pil pill pin pipe pipeline pitch pixel pixels pl place placed
placeholder places plain plan plane planet planned planning plans plant plants plastic plate platform platforms
play played player players playing plays ple please pleasure plenty plot plt plugin plugins plus pm po pod point
pointed pointer points pol polic police policies policy polit political politics poll poly pool poor pop popular
population por porn porno port portion pos pose position positions positive poss possess possibility possible
possibly post posted posting posts pot potential potentially pou pounds pour pow powder power powerful powers pp
pr pract practical practice practices pre prec preced precision pred predict prefer preferred prefix pregn prem
premium prepar prepare prepared pres presence present presentation presented president presidential press
pressed pressure pret pretty prev prevent preview previous previously pri price prices prim primarily primary
prime princip principal principle principles print printed printf println prior priority prison priv privacy
private privile pro prob probably proble problem problems proc proced procedure procedures proceed process
processed processes processing prod produ produce produced producer producing product production products prof
profession professional professionals professor profile profit program programming programs progress prohib
project projects prom promise promote prompt proof prop propag proper properly properties property propos
proposal proposed props pros prosec prostit prot prote protect protected protection protein protest protocol
proud prov prove proven provid provide provided provider providers provides providing province provision proxy
ps psych pt ptr pub public publication publicly publish published pued pul pull pulled pump pun pup pur purch
purchase purchased pure purpose purposes purs push pushed pushing pussy put puts putting px py pygame python qu
qual qualified quality quant quantity quarter que query quest question questions queue qui quick quickly quiet
quit quite quote quotes ra rac race rad radi radio radius rail rain rais raise raised ran rand random range rank
rap rape rapid rare rat rate rates rather rating ratio raw rc re reach reached react reaction read reader
readers reading readonly reads ready real reality realize realized really rear reason reasonable reasons reb rec
rece receive received receiver receiving recent recently recipe recogn recognize recognized recomm recommend
recommended recon record recorded recording records recover recovery rect red redirect redistribute redu reduce
reduced reduction ref refer reference references referred reflect reform refresh refuge refused reg regard
regarding regardless regime region regional regions register registered registration regul regular regularly
regulations rein reject rel related relation relations relationship relationships relative relatively relax rele
release released relevant reli reliable relief relig religion religious rely rem remain remained remaining
remains remark remember remote removal remove removed ren rencontre rend render renew rent rep repair repe
repeat repeated repl replace replaced replacement reply repo report reported reporting reports repository
represent representation represented representing represents reprodu reputation req requ request requested
requests require required requirement requirements requires res resc rescue research researchers reserved reset
residents resistance resolution resolve resource resources resp respect respectively respond responded respons
response responses responsibility responsible rest restart restaur restaurant restaurants restore restr restrict
restrictions result resulting results resume ret retail retain retire retrieve retro return returned returning
returns rev reve reveal revealed revenue revers reverse review reviews revis revolution reward rhs rich rid ride
rig right rights ring ris rise rising risk risks river ro road rob robot rock role roles roll rom roof room
rooms root rose rot rotate rotation rough roughly round rout route router routes routine row rows rs rt ru rub
rule rules ruling rum run running runs runtime rush sa sac sacr sad saf safe safety said sal salary sale sales
salt sam same sample samples san sand sans sat satisf sav save saved saving saw say saying says sb sc scala
scalar scale scan scanf scen scenario scene scenes sch sched schedule scheduled schema scheme school schools
science scient scientific scientists scope score scored scores scr scre screen screens script scroll se sea
search searching season seasons seat seats sec second secondary seconds secret section sections sector secure
security sed see seed seeing seek seeking seem seemed seems seen sees seg segment seks sel select selected
selection selector self sell selling sem sen send sender sending senior sens sense sensitive sensor sent
sentence separ separate seq sequ sequence ser serial series serious seriously serv serve served server servers
serves service services serving ses session sessions set sets sett setting settings settlement setup seven sever
several severe sex sexe sexual sexy sf sh sha shadow shall shape share shared shares sharing sharp she sheet
shell shift ship shipping shirt shit shock shoes shoot shooting shop shopping short shot shots should shoulder
shouldn show showed shower showing shown shows shr shut si sich sick sid side sides sie sig sight sign signal
signals signature signed signific significant significantly signing signs sil silver sim similar simp simpl
simple simply sin since sind sing single singles sister sit site sites sitting situ situation situations six
size sizeof sizes sk ske skill skills skin skip sky sl sleep slice slide slight slightly slot slots slow slowly
sm small smaller smart smile smoke smooth sn snap snapshot snow so sob sobre soc soci social society sock socket
soft software soil sol solar sold soldiers sole solid solo solution solutions solve som some somehow someone
something sometimes somewhat somewhere son song songs sont soon sorry sort sorted sou sought soul sound sounds
source sources south sp space spaces span spark spe speak speaking spec special species specific specifically
specified specify spect speech speed spell spend spending spent spin spirit spl split spoke spokes spons sport
sports spot spr spread spring sprintf sprite sql squ square src ss st stable stack staff stage stand standard
standards standing stands star stars start started starting starts stat state stated statement statements states
static station stations statistics stats status stay std ste stead steel step steps stick still stim stock stone
stood stop stopped storage store stored stores stories storm story str straight strange strateg strategies
strategy stre stream streaming street streets strength stress stretch strict strike string strings strip strlen
stroke strong stronger strongly struck struct structure structures strugg struggle stub stuck stud student
students studies studio study stuff style styled styles su sub subject subjects submit submitted subs
subscription subsequent substant substantial substr suc succeed success successful successfully such sudden
suddenly suff suffer suffered suffering sufficient sugar suggest suggested suggests suit suitable suite sum
summary summer sun sup super superior supplied supplies supply support supported supporters supporting supports
supposed sur sure surface surg surgery surpr surprise surprised surprising surround surrounding surv surve
survey sus susp suspect sust sustain sv sw swap swe sweet swim switch sy sym symbol sympt symptoms syn sync
synchron sys system systems sz ta tab table tables tack tact tag tags tail take taken takes taking tal talent
talk talked talking talks tall tamb tan tank tap tape tar target targeted targets task tasks taste taught tax
taxes tb tc te tea teach teacher teachers teaching team teams tech techn technical technique techniques
technologies technology teen tele television tell telling tells tem temp temper temperature template temporary
ten tend tensor tent ter term termin terminal terms terr terrible terror test tested testing tests text texture
tf th than thank thanks that the their them theme themselves then theory ther therapy there therefore these
thesis they thick thin thing things think thinking thinks third this thorough those though thought thoughts
thous thousand thousands thr thread threads threat three threshold through throughout throw thrown throws thus
ti tick ticket tickets tid tied tight til tile till tim time timeout timer times timestamp tiny tip tipo tips
tit title titles tk tm tmp to tod today todo todos tog together toggle tok token tokens told toler tom tomorrow
ton tone too took tool tools top topic topics tor torch tort tot total totally tou touch tough tour tournament
tout tow toward towards town tr tra trace track tracking tracks trad trade trading tradition traditional traff
traffic trail train trained training trans transaction transactions transfer transform transition transl
translate translation transport trav travel tre treat treated treatment tree trees trend tri trial trib trick
tried tries trigger trim trip tro troops trouble truck true truly trust truth try trying ts tu tub tube tum tun
tuple tur turn turned turning turns tv tw twe tweet twenty twice two tx txt ty typ type typedef typename typeof
types typical typically ui uid uint uk ul ult ultimate ultimately um uma un una unable und undefined under
underlying underst understand understanding understood une unexpected unf uniform union unique unit units
univers universe university unknown unless unlikely unlock unn uns unsigned unt until unus unw up upcoming
update updated updates upgrade upload upon upper ur urban uri url us usage use used useful user username users
uses using usual usually usuario ut utf util utility utils uuid va vac vacc vag val valid validate validation
valor valuable value values van var vari variable variables variant variety various vary vast ve vec vector
veget veh vehicle vehicles vel velocity ven vent ver verbose verify vers version versions vert vertex vertical
vertices very vess veter vi via vibr vice vict victim victims victory video videos vie view views vill village
viol violence violent vir virt virtual virus vis visible vision visit visited visiting visitors visual vit vital
vm vo voc voice void vol volatile volt volume volunte von voor vor vot vote voted voters votes voting votre vous
vs vul vulner wa wait waiting wake walk walked walking wall wallet walls want wanted wants war warm warn warning
warrant warranty was wash wasn waste watch watched watching water wave waves way ways we weak wealth weapon
weapons wear wearing weather web website websites wed wedding week weekend weekly weeks weight weights weird wel
welcome well went wer werden were weren west wet wh what whatever whe wheel when whenever where whether which
while white who whole whom whose why wid wide widely widget width wie wife wild will willing win wind window
windows wine winner winning wins winter wir wird wire wish with withdraw within without witness wom woman women
won wonder wonderful wood wor word words work worked worker workers working works world worldwide worry worse
worst worth would wouldn wp wr wrap wrapper writ write writer writers writes writing written wrong wrote www wx
wy xml xs xxx ya yang yards year years yellow yes yesterday yet yield you young younger your yourself youth yy
za ze zero zeros zip zone zoom zu zum zur
`

let words: ReadonlySet<string> | null = null

/** Parsed at the first use, so that a hub that needs none does not keep them. */
export function commonWords(): ReadonlySet<string> {
  return (words ??= new Set(WORDS.trim().split(/\s+/)))
}
