//! What old files do not describe: classes whose streamers were written by hand before StreamerInfos existed, and
//! classes that a file's writer left out.
//!
//! Source: `TBranch::Streamer`, `TTree::Streamer`, `TLeaf::Streamer` for versions before schema evolution.

use std::sync::Arc;

use super::info::StreamerInfo;
use super::layout_dsl::describe;

/// Adds what a file of ROOT `file_version` does not describe itself.
pub(super) fn complete(mut infos: Vec<StreamerInfo>, file_version: i32) -> Vec<StreamerInfo> {
    let known: std::collections::HashSet<Arc<str>> = infos.iter().map(|info| Arc::clone(&info.name)).collect();
    let built_in = if known.contains("TTree") || known.contains("TBranch") {
        MODERN
    } else if file_version < 30000 {
        ANCIENT
    } else {
        MODERN
    };
    for (name, version, members) in built_in {
        if !known.contains(*name) {
            infos.push(describe(name, *version, members));
        }
    }
    for (derived, base, version, members) in BASES {
        if known.contains(*derived) && !known.contains(*base) {
            infos.push(describe(base, *version, members));
        }
    }
    infos
}

/// Layouts of ROOT 6, for files whose writers left them out.
const MODERN: &[(&str, i32, &str)] = &[
    ("TNamed", 1, "base:TObject@1 fName:65:TString fTitle:65:TString"),
    ("TObjString", 1, "base:TObject@1 fString:65:TString"),
    ("TAttLine", 2, "fLineColor:2 fLineStyle:2 fLineWidth:2"),
    ("TAttFill", 2, "fFillColor:2 fFillStyle:2"),
    ("TAttMarker", 2, "fMarkerColor:2 fMarkerStyle:2 fMarkerSize:5"),
    (
        "TBranch",
        12,
        "base:TNamed@1 base:TAttFill@2 fCompress:3 fBasketSize:3 fEntryOffsetLen:3 fWriteBasket:3 fEntryNumber:16 fOffset:3 \
         fMaxBaskets:6 fSplitLevel:3 fEntries:16 fFirstEntry:16 fTotBytes:16 fZipBytes:16 fBranches:61:TObjArray \
         fLeaves:61:TObjArray fBaskets:61:TObjArray fBasketBytes*3:fMaxBaskets fBasketEntry*16:fMaxBaskets \
         fBasketSeek*16:fMaxBaskets fFileName:65:TString",
    ),
    (
        "TTree",
        19,
        "base:TNamed@1 base:TAttLine@2 base:TAttFill@2 base:TAttMarker@2 fEntries:16 fTotBytes:16 fZipBytes:16 \
         fSavedBytes:16 fFlushedBytes:16 fWeight:8 fTimerInterval:3 fScanField:3 fUpdate:3 fDefaultEntryOffsetLen:3 \
         fNClusterRange:6 fMaxEntries:16 fMaxEntryLoop:16 fMaxVirtualSize:16 fAutoSave:16 fAutoFlush:16 fEstimate:16 \
         fClusterRangeEnd*16:fNClusterRange fClusterSize*16:fNClusterRange fBranches:61:TObjArray fLeaves:61:TObjArray \
         fAliases:64:TList* fIndexValues:62:TArrayD fIndex:62:TArrayI fTreeIndex:64:TVirtualIndex* fFriends:64:TList* \
         fUserInfo:64:TList* fBranchRef:64:TBranchRef*",
    ),
    ("TChainElement", 2, "base:TNamed@1 fEntries:16 fNPackets:3 fPacketSize:3 fStatus:3"),
    ("TLeaf", 2, "base:TNamed@1 fLen:3 fLenType:3 fOffset:3 fIsRange:18 fIsUnsigned:18 fLeafCount:64:TLeaf*"),
    ("TLeafB", 1, "base:TLeaf@2 fMinimum:1 fMaximum:1"),
    ("TLeafO", 1, "base:TLeaf@2 fMinimum:18 fMaximum:18"),
    ("TLeafS", 1, "base:TLeaf@2 fMinimum:2 fMaximum:2"),
    ("TLeafI", 1, "base:TLeaf@2 fMinimum:3 fMaximum:3"),
    ("TLeafL", 1, "base:TLeaf@2 fMinimum:16 fMaximum:16"),
    ("TLeafF", 1, "base:TLeaf@2 fMinimum:5 fMaximum:5"),
    ("TLeafD", 1, "base:TLeaf@2 fMinimum:8 fMaximum:8"),
    ("TLeafC", 1, "base:TLeaf@2 fMinimum:3 fMaximum:3"),
];

/// Bases of version 0, which ROOT describes in no file, by the class that has them.
const BASES: &[(&str, &str, i32, &str)] = &[("TTreePerfStats", "TVirtualPerfStats", 0, "base:TObject@1")];

/// Layouts of ROOT 2, which wrote no descriptions.
const ANCIENT: &[(&str, i32, &str)] = &[
    ("TNamed", 1, "base:TObject@1 fName:65:TString fTitle:65:TString"),
    ("TObjString", 1, "base:TObject@1 fString:65:TString"),
    ("TAttLine", 1, "fLineColor:2 fLineStyle:2 fLineWidth:2"),
    ("TAttFill", 1, "fFillColor:2 fFillStyle:2"),
    ("TAttMarker", 1, "fMarkerColor:2 fMarkerStyle:2 fMarkerSize:5"),
    (
        "TTree",
        4,
        "base:TNamed@1 base:TAttLine@1 base:TAttFill@1 base:TAttMarker@1 fScanField:3 fMaxEntryLoop:3 fMaxVirtualSize:3 \
         fEntries:8 fTotBytes:8 fZipBytes:8 fAutoSave:3 fEstimate:3 fBranches:61:TObjArray fLeaves:61:TObjArray \
         fIndexValues:62:TArrayD fIndex:62:TArrayI fInfos:61:TList",
    ),
    (
        "TTree",
        3,
        "base:TNamed@1 base:TAttLine@1 base:TAttFill@1 base:TAttMarker@1 fScanField:3 fMaxEntryLoop:3 fMaxVirtualSize:3 \
         fEntries:8 fTotBytes:8 fZipBytes:8 fAutoSave:3 fEstimate:3 fBranches:61:TObjArray fLeaves:61:TObjArray \
         fIndexValues:62:TArrayD fIndex:62:TArrayI",
    ),
    (
        "TBranch",
        5,
        "base:TNamed@1 fCompress:3 fBasketSize:3 fEntryOffsetLen:3 fMaxBaskets:6 fWriteBasket:3 fEntryNumber:3 fEntries:8 \
         fTotBytes:8 fZipBytes:8 fOffset:3 fBranches:61:TObjArray fLeaves:61:TObjArray fBaskets:61:TObjArray \
         fBasketEntry:62:TArrayI fBasketBytes:62:TArrayI fBasketSeek:62:TArrayI fFileName:65:TString",
    ),
    ("TChainElement", 2, "base:TNamed@1 fEntries:16 fNPackets:3 fPacketSize:3 fStatus:3"),
    ("TLeaf", 2, "base:TNamed@1 fLen:3 fLenType:3 fOffset:3 fIsRange:18 fIsUnsigned:18 fLeafCount:64:TLeaf*"),
    ("TLeafB", 1, "base:TLeaf@2 fMinimum:1 fMaximum:1"),
    ("TLeafS", 1, "base:TLeaf@2 fMinimum:2 fMaximum:2"),
    ("TLeafI", 1, "base:TLeaf@2 fMinimum:3 fMaximum:3"),
    ("TLeafF", 1, "base:TLeaf@2 fMinimum:5 fMaximum:5"),
    ("TLeafD", 1, "base:TLeaf@2 fMinimum:8 fMaximum:8"),
    ("TLeafC", 1, "base:TLeaf@2 fMinimum:3 fMaximum:3"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_in_short_is_understood() {
        for (name, version, members) in MODERN.iter().chain(ANCIENT) {
            let info = describe(name, *version, members);
            assert_eq!(info.elements.len(), members.split_whitespace().count(), "{name}");
        }
    }
}
