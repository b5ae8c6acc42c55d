//! Classes that ROOT streams by hand whose bytes are a plain list of members: their layouts, version by version.
//!
//! Their StreamerInfos, where a file has them at all, describe other bytes. Layouts that are no such list are in
//! [`custom`](super::custom). Format page: `docs/format/custom.md`.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

use super::info::StreamerInfo;
use super::layout_dsl::describe;

type Layout = (&'static str, RangeInclusive<i32>, &'static str);

/// The layouts of a class, where it is streamed by hand. What a file says about these versions is wrong.
pub(super) fn layouts(class: &str) -> &'static [Arc<StreamerInfo>] {
    find(&BY_CLASS, class)
}

/// Layouts of classes that files often name without describing them.
pub(super) fn left_out(class: &str) -> &'static [Arc<StreamerInfo>] {
    find(&LEFT_OUT_BY_CLASS, class)
}

type Known = HashMap<&'static str, Vec<Arc<StreamerInfo>>>;

static BY_CLASS: LazyLock<Known> = LazyLock::new(|| by_class(LAYOUTS));
static LEFT_OUT_BY_CLASS: LazyLock<Known> = LazyLock::new(|| by_class(LEFT_OUT));

fn find(known: &'static Known, class: &str) -> &'static [Arc<StreamerInfo>] {
    // All instances of a template have one layout.
    let plain = class.split_once('<').map_or(class, |(name, _)| name);
    known.get(plain).map_or(&[], Vec::as_slice)
}

fn by_class(layouts: &[Layout]) -> Known {
    let mut known = Known::new();
    for (class, versions, members) in layouts {
        let infos = known.entry(class).or_default();
        infos.extend(versions.clone().map(|version| Arc::new(describe(class, version, members))));
    }
    known
}

const LAYOUTS: &[Layout] = &[
    // `TMaterial::Streamer`, `TMixture::Streamer`: in another order than their StreamerInfo, arrays with their length.
    ("TMaterial", 3..=3, "base:TNamed@1 fNumber:3 fA:5 fZ:5 fDensity:5 base:TAttFill@2 fRadLength:5 fInterLength:5"),
    ("TMixture", 1..=1, "base:TMaterial@3 fNmixt:3 fAmixt:62:TArrayF fZmixt:62:TArrayF fWmixt:62:TArrayF"),
    // `TImagePalette::Streamer`: arrays without the byte before them.
    (
        "TImagePalette",
        2..=2,
        "base:TObject@1 fNumPoints:13 fPoints*8!:fNumPoints fColorRed*12!:fNumPoints fColorGreen*12!:fNumPoints \
         fColorBlue*12!:fNumPoints fColorAlpha*12!:fNumPoints",
    ),
    // A file that holds nothing but an image describes neither of the two.
    ("TAttImage", 1..=1, "fImageQuality:3 fImageCompression:13 fConstRatio:18 fPalette:61:TImagePalette"),
    // `RooRealVar::Streamer`: the shared properties stand within its byte count, whatever its StreamerInfo says.
    ("RooRealVar", 1..=1, "base:RooAbsRealLValue@1 fitMin:8 fitMax:8 fitBins:3 _error:8 _asymErrLo:8 _asymErrHi:8"),
    ("RooRealVar", 2..=2, "base:RooAbsRealLValue@1 _error:8 _asymErrLo:8 _asymErrHi:8 _binning:64:RooAbsBinning*"),
    (
        "RooRealVar",
        3..=3,
        "base:RooAbsRealLValue@1 _error:8 _asymErrLo:8 _asymErrHi:8 _binning:64:RooAbsBinning* \
         _sharedProp:64:RooRealVarSharedProperties*",
    ),
    (
        "RooRealVar",
        4..=16,
        "base:RooAbsRealLValue@1 _error:8 _asymErrLo:8 _asymErrHi:8 _binning:64:RooAbsBinning* \
         _sharedProp:61:RooRealVarSharedProperties",
    ),
    // `RooLinkedList::Streamer`: no byte count; its StreamerInfo names a member that is never written.
    ("RooLinkedList", 1..=1, "base:TObject@1 items:500!:vector<TObject*>"),
    ("RooLinkedList", 2..=6, "base:TObject@1 items:500!:vector<TObject*> _name:65:TString"),
    // `RooAbsBinning::Streamer`.
    ("RooAbsBinning", 1..=1, "base:TObject@1 base:RooPrintable@1"),
    ("RooAbsBinning", 2..=6, "base:TNamed@1 base:RooPrintable@1"),
    // `RooRefArray::Streamer`: not the TObjArray that it derives from.
    ("RooRefArray", 1..=4, "base:TRefArray@1"),
    // `RooCategory::Streamer`: from version 3 on, its StreamerInfo is true.
    ("RooCategory", 1..=1, "base:RooAbsCategoryLValue@1 _sharedProp:64:RooCategorySharedProperties*"),
    ("RooCategory", 2..=2, "base:RooAbsCategoryLValue@1 _sharedProp:61:RooCategorySharedProperties"),
    // `RooWorkspace::CodeRepo::Streamer`: maps by name, pair after pair.
    (
        "RooWorkspace::CodeRepo",
        1..=1,
        "_fmap:500!:vector<RooWorkspace::CodeRepo::ClassFiles> _c2fmap:500!:vector<RooWorkspace::CodeRepo::ClassRelInfo>",
    ),
    (
        "RooWorkspace::CodeRepo",
        2..=4,
        "_fmap:500!:vector<RooWorkspace::CodeRepo::ClassFiles> _c2fmap:500!:vector<RooWorkspace::CodeRepo::ClassRelInfo> \
         _ehmap:500!:vector<RooWorkspace::CodeRepo::ExtraHeader>",
    ),
    (
        "RooWorkspace::CodeRepo::ClassFiles",
        1..=1,
        "first:65:TString _hext:65:TString _hfile:65:TString _cxxfile:65:TString",
    ),
    ("RooWorkspace::CodeRepo::ClassRelInfo", 1..=1, "first:65:TString _baseName:65:TString _fileBase:65:TString"),
    ("RooWorkspace::CodeRepo::ExtraHeader", 1..=1, "first:65:TString _hname:65:TString _hfile:65:TString"),
    // `RooCFunction1Ref::Streamer` and its kin: the name of the function.
    ("RooCFunction1Ref", 1..=4, "_name:65:TString"),
    ("RooCFunction2Ref", 1..=4, "_name:65:TString"),
    ("RooCFunction3Ref", 1..=4, "_name:65:TString"),
    ("RooCFunction4Ref", 1..=4, "_name:65:TString"),
    // `TCanvas::Streamer`: bits of `fBits` stand as bytes of their own.
    (
        "TCanvas",
        1..=1,
        "base:TPad@1 fDISPLAY:65:TString fDoubleBuffer:3 fRetained:18 fXsizeUser:5 fYsizeUser:5 fXsizeReal:5 fYsizeReal:5 \
         fWindowTopX:3 fWindowTopY:3 fCw:13 fCh:13 fCatt:61:TAttCanvas kMoveOpaque:18 kResizeOpaque:18 \
         fHighLightColor:2 fBatch:18",
    ),
    (
        "TCanvas",
        2..=2,
        "base:TPad@1 fDISPLAY:65:TString fDoubleBuffer:3 fRetained:18 fXsizeUser:5 fYsizeUser:5 fXsizeReal:5 fYsizeReal:5 \
         fWindowTopX:3 fWindowTopY:3 fCw:13 fCh:13 fCatt:61:TAttCanvas kMoveOpaque:18 kResizeOpaque:18 \
         fHighLightColor:2 fBatch:18 kShowEventStatus:18 kMenuBar:18",
    ),
    (
        "TCanvas",
        3..=3,
        "base:TPad@1 fDISPLAY:65:TString fDoubleBuffer:3 fRetained:18 fXsizeUser:5 fYsizeUser:5 fXsizeReal:5 fYsizeReal:5 \
         fWindowTopX:3 fWindowTopY:3 fWindowWidth:13 fWindowHeight:13 fCw:13 fCh:13 fCatt:61:TAttCanvas kMoveOpaque:18 \
         kResizeOpaque:18 fHighLightColor:2 fBatch:18 kShowEventStatus:18 kMenuBar:18",
    ),
    (
        "TCanvas",
        4..=10,
        "base:TPad@1 fDISPLAY:65:TString fDoubleBuffer:3 fRetained:18 fXsizeUser:5 fYsizeUser:5 fXsizeReal:5 fYsizeReal:5 \
         fWindowTopX:3 fWindowTopY:3 fWindowWidth:13 fWindowHeight:13 fCw:13 fCh:13 fCatt:61:TAttCanvas kMoveOpaque:18 \
         kResizeOpaque:18 fHighLightColor:2 fBatch:18 kShowEventStatus:18 kAutoExec:18 kMenuBar:18",
    ),
    // `TBtree::Streamer`: the shape, and the elements as TCollection writes them.
    (
        "TBtree",
        0..=2,
        "fOrder:3 fOrder2:3 fInnerLowWaterMark:3 fLeafLowWaterMark:3 fInnerMaxIndex:3 fLeafMaxIndex:3 \
         base:TSeqCollection@0",
    ),
    // `TCollection::Streamer`, and the classes that call it and add nothing.
    ("TCollection", 1..=1, "items:500!:vector<TObject*>"),
    ("TCollection", 2..=2, "fName:65:TString items:500!:vector<TObject*>"),
    ("TCollection", 3..=6, "base:TObject@1 fName:65:TString items:500!:vector<TObject*>"),
    ("TSeqCollection", 0..=0, "base:TCollection@3"),
    ("TOrdCollection", 0..=0, "base:TSeqCollection@0"),
    ("THashTable", 0..=0, "base:TCollection@3"),
    ("TPair", 0..=0, "base:TObject@1"),
    // `TVirtualPS` adds nothing to its bases, although its StreamerInfo has members; these add nothing to `TVirtualPS`.
    ("TVirtualPS", 0..=0, "base:TNamed@1 base:TAttLine@2 base:TAttFill@2 base:TAttMarker@2 base:TAttText@2"),
    ("TSVG", 0..=0, "base:TVirtualPS@0"),
    ("TImageDump", 0..=0, "base:TVirtualPS@0"),
    ("TTeXDump", 0..=0, "base:TVirtualPS@0"),
    // `TUrl::Streamer`: its members, which no file describes.
    (
        "TUrl",
        1..=1,
        "base:TObject@1 fUrl:65:TString fProtocol:65:TString fUser:65:TString fPasswd:65:TString fHost:65:TString \
         fFile:65:TString fAnchor:65:TString fOptions:65:TString fPort:3",
    ),
    // `TTreeIndex::Streamer`: arrays without a flag byte.
    (
        "TTreeIndex",
        1..=1,
        "base:TVirtualIndex@1 fMajorName:65:TString fMinorName:65:TString fN:16 fIndexValues*16!:fN fIndex*16!:fN",
    ),
    (
        "TTreeIndex",
        2..=4,
        "base:TVirtualIndex@1 fMajorName:65:TString fMinorName:65:TString fN:16 fIndexValues*16!:fN \
         fIndexValuesMinor*16!:fN fIndex*16!:fN",
    ),
    // `TBranchClones::Streamer`, with the types that TBranch's members have since ROOT 5.
    (
        "TBranchClones",
        1..=4,
        "base:TNamed@1 fCompress:3 fBasketSize:3 fEntryOffsetLen:3 fMaxBaskets:3 fWriteBasket:3 fEntryNumber:16 \
         fEntries:16 fTotBytes:16 fZipBytes:16 fOffset:3 fBranchCount:64:TBranch* fClassName:65:TString \
         fBranches:61:TObjArray",
    ),
    // `TMaterial::Streamer`, `TMixture::Streamer`: the geometry before TGeo.
    ("TMaterial", 1..=2, "base:TNamed@1 fNumber:3 fA:5 fZ:5 fDensity:5"),
    ("TMaterial", 3..=5, "base:TNamed@1 fNumber:3 fA:5 fZ:5 fDensity:5 base:TAttFill@1 fRadLength:5 fInterLength:5"),
    ("TMixture", 1..=4, "base:TMaterial@3 fNmixt:3 fAmixt*5!:fNmixt fZmixt*5!:fNmixt fWmixt*5!:fNmixt"),
    // `TPolyLine3D::Streamer`, `TPolyMarker3D::Streamer`.
    ("TPolyLine3D", 1..=3, "base:TObject@1 base:TAttLine@1 fN:3 fP*5!:3xfN fOption:65:TString"),
    ("TPolyMarker3D", 1..=1, "base:TObject@1 base:TAttMarker@1 fN:3 fP*5!:3xfN fOption:65:TString"),
    ("TPolyMarker3D", 2..=5, "base:TObject@1 base:TAttMarker@1 fN:3 fP*5!:3xfN fOption:65:TString fName:65:TString"),
];

const LEFT_OUT: &[Layout] = &[
    ("TNamed", 1..=1, "base:TObject@1 fName:65:TString fTitle:65:TString"),
    ("TObjString", 1..=1, "base:TObject@1 fString:65:TString"),
    ("TAttLine", 2..=2, "fLineColor:2 fLineStyle:2 fLineWidth:2"),
    ("TAttFill", 2..=2, "fFillColor:2 fFillStyle:2"),
    ("TAttMarker", 2..=2, "fMarkerColor:2 fMarkerStyle:2 fMarkerSize:5"),
    ("TAttLine", 1..=1, "fLineColor:2 fLineStyle:2 fLineWidth:2"),
    ("TAttFill", 1..=1, "fFillColor:2 fFillStyle:2"),
    ("TAttMarker", 1..=1, "fMarkerColor:2 fMarkerStyle:2 fMarkerSize:5"),
    ("TTime", 1..=2, "fMilliSec:16"),
    (
        "TFormula",
        8..=8,
        "base:TNamed@1 fNdim:3 fNpar:6 fNoper:6 fNconst:6 fNumber:3 fNval:3 fNstring:3 fExpr*461:fNoper:TString* \
         fOper*3:fNoper fConst*8:fNconst fParams*8:fNpar fNames*461:fNpar:TString* fFunctions:61:TObjArray \
         fLinearParts:61:TObjArray",
    ),
    (
        "TF1",
        7..=7,
        "base:TFormula@8 base:TAttLine@1 base:TAttFill@1 base:TAttMarker@2 fXmin:8 fXmax:8 fNpx:3 fType:3 fNpfits:3 \
         fNDF:3 fNsave:6 fChisquare:8 fParErrors*8:fNpar fParMin*8:fNpar fParMax*8:fNpar fSave*8:fNsave fMaximum:8 \
         fMinimum:8",
    ),
    ("TVirtualIndex", 1..=1, "base:TNamed@1"),
    ("RooPrintable", 1..=1, ""),
    ("RooSharedProperties", 1..=1, "base:TObject@1 _uuid:62:TUUID"),
    ("RooArgSet", 1..=1, "base:RooAbsCollection@3"),
    ("RooArgList", 1..=1, "base:RooAbsCollection@3"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_in_short_is_understood() {
        for (name, versions, members) in LAYOUTS.iter().chain(LEFT_OUT) {
            let info = describe(name, *versions.start(), members);
            assert_eq!(info.elements.len(), members.split_whitespace().count(), "{name}");
        }
    }

    #[test]
    fn templates_share_their_layout() {
        assert_eq!(layouts("RooCFunction2Ref<double,int,int>").len(), 4);
        assert!(layouts("RooGaussian").is_empty());
    }
}
